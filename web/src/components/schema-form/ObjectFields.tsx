// The fields of an object, with rows for additional properties.
import { useForm } from './context';
import { pathOf } from './errors';
import { FieldView } from './FieldView';
import { initialOf } from './initial';
import { MapInput } from './MapInput';
import { isJsonObject, isSame, type JsonObject, type JsonSchema, type JsonValue } from './schema';
import type { Shape } from './shape';
import { withField } from './value';

interface Props {
  shape: Extract<Shape, { kind: 'object' }>;
  schema: JsonSchema;
  /** The label of the object, or of its additional properties. */
  label: string;
  path: string;
  depth: number;
  value: JsonValue | undefined;
  onChange: (value: JsonValue | undefined) => void;
  isRequired: boolean;
  /** A property that is rendered elsewhere. */
  omit?: string;
}

export function ObjectFields({ shape, schema, label, path, depth, value, onChange, isRequired, omit }: Props) {
  const { root } = useForm();
  const object: JsonObject = isJsonObject(value) ? value : {};
  const change = (next: JsonObject) => {
    const initial = initialOf(schema, root, depth);
    const whole: JsonObject = isJsonObject(value) || !isJsonObject(initial) ? next : { ...initial, ...next };
    const isEmpty = Object.keys(whole).length === 0 || isSame(whole, initial);
    // An optional object that is empty is removed.
    onChange(isEmpty && !isRequired ? undefined : whole);
  };
  const names = shape.fields.map((field) => field.name);
  return (
    <>
      {shape.fields.filter((field) => field.name !== omit).map((field) => (
        <FieldView
          key={field.name} schema={field.schema} name={field.name} path={pathOf(path, field.name)} depth={depth + 1}
          value={object[field.name]} isRequired={field.isRequired} onChange={(next) => change(withField(object, field.name, next))}
        />
      ))}
      {shape.rest !== null && (
        <MapInput label={label} items={shape.rest} named={names} path={path} depth={depth} value={object} onChange={change} />
      )}
    </>
  );
}
