import { Button, TextInput } from "@mantine/core";
import { type UseMutationResult, useMutation } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useId, useState } from "react";
import { useLanguage } from "../i18n";
import { Copy } from "./Copy";
import { Dialog, useLock } from "./Dialog";
import { detailOf } from "./errors";
import classes from "./Form.module.css";
import layout from "./layout.module.css";

/** Values are what a form holds: text without the spaces around it, raw with them. */
export type Values = { text: (name: string) => string; raw: (name: string) => string; maybe: (name: string) => string | undefined; checked: (name: string) => boolean };

function valuesOf(form: HTMLFormElement): Values {
	const data = new FormData(form);
	// Browsers write line breaks of text areas as two characters.
	const raw = (name: string) => String(data.get(name) ?? "").replaceAll("\r\n", "\n");
	const text = (name: string) => raw(name).trim();
	return { text, raw, maybe: (name) => text(name) || undefined, checked: (name) => data.has(name) };
}

type FormProps<T> = { submit: string; act: UseMutationResult<T, Error, Values>; children?: ReactNode; disabled?: boolean; danger?: boolean };

/** Form sends its fields to a mutation, and shows what is wrong with them. */
export function Form<T>({ submit, act, children, disabled, danger }: FormProps<T>) {
	const { t } = useLanguage();
	const send = (event: FormEvent<HTMLFormElement>) => {
		event.preventDefault();
		if (!disabled) act.mutate(valuesOf(event.currentTarget));
	};
	return (
		<form className={classes.form} onSubmit={send} autoComplete="off">
			{children}
			<Button size="xs" type="submit" color={danger ? "red" : undefined} loading={act.isPending} disabled={disabled}>
				{submit}
			</Button>
			<p role="alert" className={layout.bad}>
				{act.isError && `${t.ui.failed} ${detailOf(act.error)}`}
			</p>
		</form>
	);
}

type DialogProps<T> = { title: string; submit?: string; onClose: () => void; send: (values: Values) => Promise<T>; onDone?: () => unknown; children?: ReactNode; disabled?: boolean; danger?: boolean; result?: (data: T) => ReactNode; stay?: boolean };

/**
 * FormDialog is a form in a window. It closes when the hub has done it, unless it stays, or shows the
 * result once.
 */
export function FormDialog<T>(props: DialogProps<T>) {
	const act = useMutation({
		mutationFn: props.send,
		gcTime: 0, // secrets are not kept
		onSuccess: () => {
			if (!props.result && !props.stay) props.onClose();
			// Not awaited: a result that is shown once does not wait for lists that are read again.
			void props.onDone?.();
		},
	});
	return (
		<Dialog title={props.title} onClose={props.onClose} busy={act.isPending}>
			{act.isSuccess && props.result ? (
				<div className={classes.form}>{props.result(act.data)}</div>
			) : (
				<Form submit={props.submit ?? props.title} act={act} disabled={props.disabled} danger={props.danger}>
					{props.children}
				</Form>
			)}
		</Dialog>
	);
}

type ConfirmProps<T> = { title: string; text: string; name?: string; nameLabel?: string; onClose: () => void; send: (values: Values) => Promise<T>; onDone?: () => unknown; children?: ReactNode; result?: (data: T) => ReactNode };

/** ConfirmDialog asks before something is done for good. name has to be typed where it is given. children are further fields. */
export function ConfirmDialog<T>(props: ConfirmProps<T>) {
	const { t } = useLanguage();
	const [typed, setTyped] = useState("");
	return (
		<FormDialog title={props.title} onClose={props.onClose} send={props.send} onDone={props.onDone} result={props.result} danger disabled={props.name !== undefined && typed.trim() !== props.name.trim()}>
			<p>{props.text}</p>
			{props.children}
			{props.name !== undefined && <TextInput label={props.nameLabel ?? t.ui.name} value={typed} autoComplete="off" onChange={(event) => setTyped(event.currentTarget.value)} data-autofocus />}
		</FormDialog>
	);
}

/** Secret shows what is never shown again. */
export function Secret({ text, value, label, onClose }: { text: string; value: string; label: string; onClose: () => void }) {
	const { t } = useLanguage();
	useLock();
	return (
		<>
			<p>{text}</p>
			<p className={classes.secret}>
				<span className="mono">{value}</span> <Copy text={value} label={label} />
			</p>
			<Button size="xs" variant="default" onClick={onClose}>
				{t.help.close}
			</Button>
		</>
	);
}

/** Select is a field with some values. */
export function Select(props: { label: string; name: string; options: [value: string, text: string][]; value?: string; required?: boolean; onChange?: (value: string) => void }) {
	return (
		<label className={classes.field}>
			<span>{props.label}</span>
			<select className={layout.select} name={props.name} required={props.required} defaultValue={props.value} onChange={(event) => props.onChange?.(event.target.value)}>
				{props.options.map(([value, text]) => (
					<option key={value} value={value}>
						{text}
					</option>
				))}
			</select>
		</label>
	);
}

/** Area is a field for text of several lines: pasted, or prose that people read. */
export function Area(props: { label: string; name: string; rows: number; maxLength: number; required?: boolean; placeholder?: string; value?: string; prose?: boolean }) {
	return (
		<label className={classes.field}>
			<span>{props.label}</span>
			<textarea className={classes.area} data-prose={props.prose} name={props.name} rows={props.rows} maxLength={props.maxLength} required={props.required} placeholder={props.placeholder} defaultValue={props.value} spellCheck={props.prose ?? false} />
		</label>
	);
}

/** Check is a box to tick. help says what it does. */
export function Check({ label, name, checked, help, onChange }: { label: string; name: string; checked?: boolean; help?: string; onChange?: (checked: boolean) => void }) {
	const id = useId();
	return (
		<div>
			<label className={classes.check}>
				<input type="checkbox" name={name} defaultChecked={checked} aria-describedby={help && id} onChange={(event) => onChange?.(event.target.checked)} /> {label}
			</label>
			{help && (
				<p className={`quiet ${classes.help}`} id={id}>
					{help}
				</p>
			)}
		</div>
	);
}
