import { type FormEvent, useState } from "react";
import { useLanguage } from "../i18n";
import classes from "./FilterBar.module.css";

/** Token is a filter that can be written as name:value. */
export type Token = { name: string; value: string };

type Props = {
	tokens: Token[];
	names: readonly string[];
	/** example is the name that the field shows; else the first. */
	example?: string;
	/** notice is what the bar says until a filter is written that is none. */
	notice?: string;
	/** parse returns the filter of a text, or undefined where it is none. */
	parse: (name: string, value: string) => Token | undefined;
	/** onAdd gets the values of new filters by their names. */
	onAdd: (added: Record<string, string>) => void;
	onRemove: (token: Token) => void;
	children?: React.ReactNode;
};

/** Filters is the bar of a list whose filters are choices only. */
export function Filters({ children }: { children: React.ReactNode }) {
	const { t } = useLanguage();
	return (
		<section className={classes.bar} aria-label={t.ui.filters}>
			{children}
		</section>
	);
}

/** textsOf divides a line into its filters: each begins with a name, and values may have spaces. */
function textsOf(line: string, names: readonly string[]): string[] {
	return line === "" ? [] : line.split(new RegExp(`\\s+(?=(?:${names.join("|")})\\s*:)`, "i"));
}

/** FilterBar shows the filters of a list as tokens and takes new ones. */
export function FilterBar({ tokens, names, example = names[0] ?? "", notice, parse, onAdd, onRemove, children }: Props) {
	const { t } = useLanguage();
	const [error, setError] = useState("");
	const submit = (event: FormEvent<HTMLFormElement>) => {
		event.preventDefault();
		const input = event.currentTarget.elements.namedItem("token") as HTMLInputElement;
		const texts = textsOf(input.value.trim(), names);
		const tokens = texts.map((text) => {
			const colon = text.indexOf(":");
			return colon > 0 ? parse(text.slice(0, colon).trim().toLowerCase(), text.slice(colon + 1).trim()) : undefined;
		});
		const bad = texts[tokens.indexOf(undefined)];
		setError(bad ? t.ui.badFilter(bad) : "");
		if (bad || texts.length === 0) return;
		onAdd(Object.fromEntries(tokens.flatMap((token) => (token ? [[token.name, token.value]] : []))));
		input.value = "";
	};
	return (
		<Filters>
			{children}
			{tokens.map((token) => (
				<span key={token.name} className={classes.token}>
					<span className="quiet">{token.name}:</span>
					<span className={classes.value}>{token.value}</span>
					<button type="button" aria-label={t.ui.remove(`${token.name}:${token.value}`)} onClick={() => onRemove(token)}>
						×
					</button>
				</span>
			))}
			<form onSubmit={submit} className={classes.form}>
				<input name="token" className={classes.input} placeholder={t.ui.addFilter(example)} aria-label={t.ui.filterHint(names.join(", "))} title={t.ui.filterHint(names.join(", "))} aria-invalid={error !== ""} autoComplete="off" spellCheck={false} list="filters" />
				<datalist id="filters">
					{names.map((name) => (
						<option key={name} value={`${name}:`} />
					))}
				</datalist>
			</form>
			<span role="alert" className={classes.error}>
				{error || notice}
			</span>
		</Filters>
	);
}
