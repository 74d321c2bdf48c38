// The form of a `responseSchema`. It draws and reports; what is sent is checked once more where it is sent.

import Form from "@rjsf/core";
import { getDefaultFormState, type IconButtonProps, type RJSFSchema, type TemplatesType } from "@rjsf/utils";
import { ArrowDown, ArrowUp, Copy, Plus, X } from "lucide-react";
import { useMemo, useState, type ReactNode } from "react";
import { Button, IconButton } from "../../components/Button";
import css from "./SchemaForm.module.css";
import { formValidator, withTitledEnums } from "./validator";

export interface SchemaFormProps {
  schema: Record<string, unknown>;
  /** Undefined: the schema's defaults. */
  value: unknown;
  onChange: (value: unknown) => void;
  /** Keeps ids of two forms on one screen apart. */
  idPrefix: string;
  disabled: boolean;
  /** Show every fault, also of places not touched yet. */
  strict: boolean;
}

export default function SchemaForm({ schema, value, onChange, idPrefix, disabled, strict }: SchemaFormProps) {
  const shown = useMemo(() => withTitledEnums(schema) as RJSFSchema, [schema]);
  const [touched, setTouched] = useState(false);
  return (
    <Form
      className={css.form ?? ""}
      tagName="div"
      schema={shown}
      validator={formValidator}
      formData={value}
      onChange={(event) => {
        setTouched(true);
        onChange(event.formData);
      }}
      idPrefix={idPrefix}
      disabled={disabled}
      noHtml5Validate
      liveValidate={touched || strict ? "onChange" : false}
      showErrorList={false}
      templates={templates}
      uiSchema={{ "ui:submitButtonOptions": { norender: true } }}
    />
  );
}

/** The value a form starts with. */
export function startValue(schema: Record<string, unknown>): unknown {
  return getDefaultFormState(formValidator, schema as RJSFSchema, undefined, schema as RJSFSchema);
}

function icon(label: string, sign: ReactNode) {
  return function IconTemplate({ onClick, disabled, id }: IconButtonProps) {
    return (
      <IconButton id={id} label={label} onClick={onClick} disabled={disabled}>
        {sign}
      </IconButton>
    );
  };
}

const templates: Partial<TemplatesType> = {
  ButtonTemplates: {
    AddButton: ({ onClick, disabled, id }: IconButtonProps) => (
      <Button size="s" id={id} onClick={onClick} disabled={disabled} icon={<Plus aria-hidden="true" />}>
        Add
      </Button>
    ),
    RemoveButton: icon("Remove", <X />),
    MoveUpButton: icon("Move up", <ArrowUp />),
    MoveDownButton: icon("Move down", <ArrowDown />),
    CopyButton: icon("Copy", <Copy />),
    ClearButton: icon("Clear", <X />),
    SubmitButton: () => null,
  } as TemplatesType["ButtonTemplates"],
};
