import { Injectable } from '@nestjs/common';
import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';
import { checkFields, fieldsOf, invalid } from './dto.js';
import type { Dto } from './dto.js';

const INTEGER = /^-?\d{1,15}$/;

type QueryValue = string | readonly string[];

/**
 * Reads a query string into the class of the parameter: fields of type Number from digits, of type Array also from one
 * value, all others from exactly one. Names it does not know are refused, since a misspelt one would silently do nothing.
 */
@Injectable()
export class QueryPipe implements PipeTransform<Readonly<Record<string, QueryValue>>, object> {
  transform(query: Readonly<Record<string, QueryValue>>, { metatype }: ArgumentMetadata): object {
    const dto = metatype as Dto<object>;
    const fields = fieldsOf(dto);
    const values = new dto() as Record<string, unknown>;
    const faults = [];
    for (const [name, value] of Object.entries(query)) {
      const path = `query.${name.slice(0, 100)}`;
      if (!fields.has(name))
        faults.push({ path, code: 'unknown_field', message: 'is not a parameter of this request' });
      else if ([value].flat().some((text) => text.includes('\0')))
        faults.push({ path, code: 'forbidden_character', message: 'contains U+0000' });
      else values[name] = convert(value, Reflect.getMetadata('design:type', dto.prototype as object, name));
    }
    faults.push(...checkFields(dto, values, (field) => `query.${field}`));
    if (faults.length > 0) throw invalid(faults);
    return values;
  }
}

function convert(value: QueryValue, type: unknown): unknown {
  if (type === Array) return [value].flat();
  if (type === Number && typeof value === 'string' && INTEGER.test(value)) return Number(value);
  return value;
}
