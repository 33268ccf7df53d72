// The error below an input that does not show its error itself.
import css from './SchemaForm.module.css';

export function ErrorText({ error }: { error: string | undefined }) {
  return error === undefined ? null : <p className={css.error} role="alert">{error}</p>;
}
