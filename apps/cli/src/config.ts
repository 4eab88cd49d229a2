/** Whether somebody does not want colours: https://no-color.org. */
export const NO_COLOR = (process.env['NO_COLOR'] ?? '') !== '';
