/** How far a negator reaches, in words: a positive word is turned from further away than a negative one. */
const REACH = { positive: 5, negative: 4 };
const ANSWERED_REACH = 2;
/** What is left of a turned word: "not good" is bad, "not bad" is only so good. */
const TURNED = { positive: -0.85, negative: -0.5 };
/** "fixes the crash": a remedy makes a negative word mildly positive. */
const REMEDIED = -0.6;
/** A negation that finds nothing to turn ("it did not start") is a mild complaint. */
const UNANSWERED = -0.3;
/** Weight of what comes before "but", after it, of an "although" clause, and of what something is compared with. */
const WEIGHT = { before: 0.4, after: 1.2, conceded: 0.4, compared: 0.2 };

interface Segment {
  weight: number;
  sum: number;
}

/**
 * Adds up the valences of one sentence, word by word, and applies what the words around them do: negation within reach,
 * degree words, contrast and concession. It knows no language; a scorer tells it what each word is.
 */
export class PolarityTally {
  private segments: Segment[] = [{ weight: 1, sum: 0 }];
  private position = 0;
  private negatedAt = -Infinity;
  private negations = 0;
  private reach = REACH.positive;
  private sparesNegatives = false;
  private remedyAt = -Infinity;
  private unanswered = 0;
  private degree = 1;
  private degreeAt = -Infinity;
  private conceding = false;

  /** Counts one word of the sentence. */
  step(): void {
    this.position += 1;
  }

  /** A word with a valence, about −2 to 2. `unturned`: no negation applies to it. */
  word(valence: number, unturned = false): void {
    let value = this.position - this.degreeAt <= 2 ? valence * this.degree : valence;
    if (value < 0 && this.position - this.remedyAt <= REACH.negative) value *= REMEDIED;
    if (this.position - this.negatedAt <= (value < 0 ? Math.min(REACH.negative, this.reach) : this.reach)) {
      this.unanswered = 0;
      if (!unturned) value = this.turn(value);
      // "no excuse for such poor service": answered once, it reaches no further than "or ugly".
      this.reach = Math.min(this.reach, this.position - this.negatedAt + ANSWERED_REACH);
    }
    this.add(value);
  }

  /** A negator, with its reach over positive words; two in a row take each other back. */
  negate(reach = REACH.positive): void {
    if (this.position - this.negatedAt > this.reach) this.negations = 0;
    this.settle();
    this.reach = reach;
    this.sparesNegatives = false;
    this.negations += 1;
    this.negatedAt = this.position;
    this.unanswered = this.negations % 2 === 1 ? UNANSWERED : 0;
  }

  /** A warning ("don't waste your time") or a failure ("stopped working"): turns what is positive, leaves what is negative. */
  deny(): void {
    this.negate();
    this.sparesNegatives = true;
  }

  /** A word that does away with the bad thing after it. */
  remedy(): void {
    this.remedyAt = this.position;
  }

  /** A degree word, for the next two words. */
  intensify(factor: number): void {
    this.degree = factor;
    this.degreeAt = this.position;
  }

  /** Punctuation between clauses: negation does not cross it. */
  breakClause(): void {
    this.endNegation();
    if (this.conceding) this.open(1);
    this.conceding = false;
  }

  /** "but": what was said before counts less than what follows. */
  contrast(): void {
    this.endNegation();
    for (const segment of this.segments) segment.weight = Math.min(segment.weight, WEIGHT.before);
    this.open(WEIGHT.after);
    this.conceding = false;
  }

  /** "although": the clause up to the next break counts less. */
  concede(): void {
    this.endNegation();
    this.open(WEIGHT.conceded);
    this.conceding = true;
  }

  /** "than": what follows up to the next break is only the measure. */
  compare(): void {
    this.endNegation();
    this.open(WEIGHT.compared);
    this.conceding = true;
  }

  /** An inability that no lexicon lists. */
  complain(): void {
    this.add(UNANSWERED);
  }

  /** −1 to 1; 0 when nothing had a valence. */
  score(): number {
    this.settle();
    const sum = this.segments.reduce((total, segment) => total + segment.weight * segment.sum, 0);
    return sum / Math.sqrt(sum * sum + 1.2);
  }

  private turn(value: number): number {
    if (this.negations % 2 === 0) return value;
    if (value > 0) return value * TURNED.positive;
    return this.sparesNegatives ? value : value * TURNED.negative;
  }

  private endNegation(): void {
    this.settle();
    this.negations = 0;
    this.negatedAt = -Infinity;
    this.remedyAt = -Infinity;
  }

  private settle(): void {
    this.add(this.unanswered);
    this.unanswered = 0;
  }

  private add(value: number): void {
    const last = this.segments.at(-1);
    if (last) last.sum += value;
  }

  private open(weight: number): void {
    this.segments.push({ weight, sum: 0 });
  }
}

/** What a word can be to its neighbours. */
export type Signal =
  | 'break'
  | 'contrast'
  | 'concession'
  | 'comparison'
  | 'complaint'
  | 'negator'
  | 'far negator'
  | 'further negator'
  | 'prohibition'
  | 'remedy'
  | 'intensifier'
  | 'diminisher';

export const SIGNALS: Record<Signal, (tally: PolarityTally) => void> = {
  break: (tally) => tally.breakClause(),
  contrast: (tally) => tally.contrast(),
  concession: (tally) => tally.concede(),
  comparison: (tally) => tally.compare(),
  complaint: (tally) => tally.complain(),
  negator: (tally) => tally.negate(),
  'far negator': (tally) => tally.negate(12),
  // "neither … nor": the second takes nothing back.
  'further negator': (tally) => {
    tally.breakClause();
    tally.negate(12);
  },
  prohibition: (tally) => tally.deny(),
  remedy: (tally) => tally.remedy(),
  intensifier: (tally) => tally.intensify(1.35),
  diminisher: (tally) => tally.intensify(0.6),
};
