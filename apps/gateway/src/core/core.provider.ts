type Token = abstract new (...args: never[]) => object;

/** How a service of the core is made, in the words of the framework, for files that do not import it. */
export interface CoreProvider {
  readonly provide: Token;
  readonly useFactory: (...args: never[]) => object;
  inject?: Token[];
}
