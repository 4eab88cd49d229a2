/** The part of newman that is used here; it brings no types of its own. */
declare module 'newman' {
  export interface RunSummary {
    readonly run: {
      readonly stats: Record<'requests' | 'assertions', { readonly total: number; readonly failed: number }>;
      readonly failures: readonly { readonly source?: { readonly name: string }; readonly error: Error }[];
    };
  }
  export function run(options: object, done: (error: Error | null, summary: RunSummary) => void): void;
}
