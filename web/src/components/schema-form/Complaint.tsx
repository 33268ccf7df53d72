// What is wrong, where no field of its own says it.
import css from './SchemaForm.module.css';

export function Complaint({ error }: { error: string | undefined }) {
  return error === undefined ? null : <p className={css.error} role="alert">{error}</p>;
}
