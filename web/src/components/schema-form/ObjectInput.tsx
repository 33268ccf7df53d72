// A nested object, as a group of its fields.
import { useForm } from './context';
import { errorsOfGroup } from './errors';
import type { InputProps } from './field';
import { Group } from './Group';
import { ObjectFields } from './ObjectFields';
import type { Shape } from './shape';

export function ObjectInput({ shape, ...props }: InputProps & { shape: Extract<Shape, { kind: 'object' }> }) {
  const { schema, path, depth, value, onChange, isRequired, label } = props;
  const { errors } = useForm();
  const error = shape.rest === null ? errorsOfGroup(errors, path, shape.fields.map((field) => field.name)) : props.error;
  return (
    <Group {...props} error={error}>
      <ObjectFields
        shape={shape} schema={schema} path={path} depth={depth} value={value} onChange={onChange} isRequired={isRequired} label={label}
      />
    </Group>
  );
}
