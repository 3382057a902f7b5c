import { Masked } from "../../../ui/Masked";
import layout from "../../../ui/layout.module.css";
import { useTexts } from "../../i18n";
import classes from "./Imports.module.css";
import type { ImportPreview } from "./queries";

type Row = ImportPreview["rows"][number];
const fields = ["external_id", "name", "phone", "email", "cpf", "birth_date", "status"] as const;

/** Preview shows how the clinic understands a file: what its columns are used for, and its first rows. */
export function Preview({ preview }: { preview: ImportPreview }) {
	const { imports: texts } = useTexts();
	const used = fields.filter((name) => preview.rows.some((row) => row[name]));
	return (
		<section className={`panel ${layout.section}`} aria-labelledby="preview">
			<h2 id="preview">{texts.preview}</h2>
			{preview.columns.length > 0 && (
				<ul className={classes.columns} aria-label={texts.columns}>
					{preview.columns.map(({ heading, field }, index) => (
						<li key={`${index} ${heading}`} className={field ? undefined : "quiet"}>
							<span className="mono">{heading || "–"}</span> → {field ? (texts.fields[field] ?? field) : texts.ignored}
						</li>
					))}
				</ul>
			)}
			{/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached with the keyboard */}
			<div className={classes.lines} tabIndex={0} role="group" aria-label={texts.firstRows(preview.rows.length, preview.total)}>
				<table className={layout.table}>
					<caption className={classes.caption}>{texts.firstRows(preview.rows.length, preview.total)}</caption>
					<thead>
						<tr>
							<th scope="col" className={layout.number}>
								{texts.line}
							</th>
							{used.map((name) => (
								<th key={name} scope="col">
									{texts.fields[name]}
								</th>
							))}
							<th scope="col">{texts.remarks}</th>
						</tr>
					</thead>
					<tbody>
						{preview.rows.map((row) => (
							<tr key={row.line}>
								<td className={layout.number}>{row.line}</td>
								{used.map((name) => (
									<td key={name}>
										<Masked value={row[name] ?? "–"} />
									</td>
								))}
								<td>
									<Remarks row={row} />
								</td>
							</tr>
						))}
					</tbody>
				</table>
			</div>
		</section>
	);
}

function Remarks({ row }: { row: Row }) {
	if (row.error) return <span className={layout.bad}>{row.error}</span>;
	return row.warnings.join("; ") || "–";
}
