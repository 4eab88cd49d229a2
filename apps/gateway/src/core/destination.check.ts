import { DomainError, isOutboundError, type OutboundClient } from '#lib/domain';

const MAX_URL = 2_048;

/** Whether messages may be sent to a URL, at the time somebody names it. With each message it is checked again. */
export class DestinationCheck {
  constructor(private readonly outbound: OutboundClient) {}

  /** @throws DomainError `invalid_request` with `path` where they may not, `unavailable` where that is not known now. */
  async assertAllowed(text: string, path: string): Promise<void> {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (!url || text.length > MAX_URL || !/^https?:$/.test(url.protocol)) {
      throw refused(path, `must be an http or https URL of at most ${MAX_URL} characters`);
    }
    if (url.username !== '' || url.password !== '') throw refused(path, 'must not hold a name or a password');
    try {
      await this.outbound.check(text, 'webhook');
    } catch (error) {
      if (!isOutboundError(error)) throw error;
      throw refused(path, error.code === 'refused' ? 'is not a place that messages are sent to' : 'has no address');
    }
  }
}

function refused(path: string, message: string): DomainError {
  return new DomainError('invalid_request', `${path}: ${message}.`, {
    faults: [{ path, code: 'destination', message }],
  });
}
