import { getMetadataStorage, ValidationTypes } from 'class-validator';

type Storage = ReturnType<typeof getMetadataStorage>;
type Validated = Parameters<Storage['getTargetValidationMetadatas']>[0];
type Metadata = ReturnType<Storage['getTargetValidationMetadatas']>[number];
type Condition = (instance: object, value: unknown) => boolean;
type Rule = (value: unknown, instance: object) => boolean;

/** What the decorators of one field ask of it. */
interface FieldRules {
  readonly field: string;
  /** The rules hold only where all of these do. */
  readonly conditions: readonly Condition[];
  readonly rules: readonly Rule[];
}

const known = new WeakMap<Validated, readonly FieldRules[] | undefined>();

/**
 * True when every field is as the decorators of its class say, by class-validator's own rules but without the error it makes
 * for each field before it looks. False says nothing: the validator has the last word, and the words for it.
 */
export function isSound(instance: object): boolean {
  const type = instance.constructor;
  if (!known.has(type)) known.set(type, rulesOf(type));
  const fields = known.get(type);
  return fields?.every((each) => isFieldSound(each, instance)) ?? false;
}

function isFieldSound({ field, conditions, rules }: FieldRules, instance: object): boolean {
  const value = (instance as Readonly<Record<string, unknown>>)[field];
  if (!conditions.every((holds) => holds(instance, value))) return true;
  return rules.every((holds) => holds(value, instance));
}

/** Undefined when the class has a kind of rule that is left to the validator, or none at all. */
function rulesOf(type: Validated): readonly FieldRules[] | undefined {
  const metadatas = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  const fields = new Map<string, { conditions: Condition[]; rules: Rule[] }>();
  for (const metadata of metadatas) {
    const own = fields.get(metadata.propertyName) ?? { conditions: [], rules: [] };
    fields.set(metadata.propertyName, own);
    if (metadata.type === ValidationTypes.CONDITIONAL_VALIDATION)
      own.conditions.push(metadata.constraints[0] as Condition);
    else if (metadata.type !== ValidationTypes.WHITELIST) {
      const rules = checksOf(metadata);
      if (rules === undefined) return undefined;
      own.rules.push(...rules);
    }
  }
  return fields.size === 0 ? undefined : [...fields].map(([field, rules]) => ({ field, ...rules }));
}

function checksOf(metadata: Metadata): readonly Rule[] | undefined {
  const { type, propertyName: property, constraints, constraintCls, each, validateIf } = metadata;
  const isPlain = type === ValidationTypes.CUSTOM_VALIDATION || type === ValidationTypes.IS_DEFINED;
  const validators = getMetadataStorage().getTargetValidatorConstraints(constraintCls);
  if (!isPlain || validateIf !== undefined || validators.some(({ async }) => async)) return undefined;
  return validators.map(({ instance: validator }) => (value, object) => {
    const asked = { value, constraints, property, object, targetName: object.constructor.name };
    const isGood = (part: unknown): boolean => validator.validate(part, asked) === true;
    return each && Array.isArray(value) ? value.every(isGood) : isGood(value);
  });
}
