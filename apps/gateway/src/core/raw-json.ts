/** A JSON value with the text it was sent as: the text is what the run gets, the value is what we look at. */
export interface RawJson {
  readonly text: string;
  readonly value: unknown;
}
