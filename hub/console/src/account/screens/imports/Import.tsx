import { Button } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { useEnvironment } from "../../../app/EnvironmentSwitch";
import { uuid } from "../../../app/search";
import { Actions, Detail, type Fact, Facts, Loaded } from "../../../ui/Detail";
import { ConfirmDialog } from "../../../ui/Form";
import layout from "../../../ui/layout.module.css";
import { Progress } from "../../../ui/Progress";
import { Time } from "../../../ui/Time";
import { useTexts } from "../../i18n";
import classes from "./Imports.module.css";
import { ImportState } from "./ImportState";
import { Preview } from "./Preview";
import { checkedQuery, type ImportDetail, importFile, importQuery, importsKey, isRunning, undoImport } from "./queries";

const route = getRouteApi("/account/$product/imports/$id");

/** Import is one import, or the check of a file before it. */
export function Import() {
	const { imports: texts } = useTexts();
	const { id, product } = route.useParams();
	const found = useQuery({ ...importQuery(useEnvironment(), id), enabled: uuid.test(id) });
	const checked = useQuery(checkedQuery(id));
	return (
		<Loaded query={found} what={texts.what} id={id}>
			{(data) => (
				<Detail
					back={
						<Link to="/account/$product/imports" params={{ product }} search={(was) => ({ environment: was.environment })}>
							{texts.title}
						</Link>
					}
					title={data.dry_run ? texts.checkHeading(checked.data?.upload.file.name ?? texts.formats[data.format]) : texts.heading(data.total)}
					state={<ImportState row={data} />}
					actions={<ImportActions key={id} shown={data} />}
				>
					<Work shown={data} />
					<ImportFacts shown={data} />
					{checked.data && <Preview preview={checked.data.preview} />}
					<Lines title={texts.refusedRows} lines={data.errors.map(({ line, error }) => [line, error])} total={data.failed} bad />
					<Lines title={texts.warnings} lines={data.warnings.map(({ line, warning }) => [line, warning])} total={data.warned} />
					<Lines title={texts.kept} lines={data.kept_patients.map(({ line, reason }) => [line, reason])} total={data.undo?.kept ?? 0} />
				</Detail>
			)}
		</Loaded>
	);
}

/** Work shows how far the import or its undo is, and why it failed as a whole. */
function Work({ shown }: { shown: ImportDetail }) {
	const { imports: texts } = useTexts();
	const { undo } = shown;
	if (shown.problem) {
		return (
			<section className={`panel ${layout.section} ${classes.wrong}`} aria-labelledby="problem">
				<h2 id="problem">{texts.failed}</h2>
				{shown.problem}
			</section>
		);
	}
	const undone = undo && undo.undone + undo.kept;
	const done = undone ?? shown.processed;
	const total = undo ? (undo.status === "done" ? done : shown.created + shown.updated) : shown.total;
	const text = undo ? texts.undone(undo.undone, undo.kept) : shown.dry_run ? texts.checked(shown.processed, shown.total) : texts.imported(shown.processed, shown.total);
	return <Progress title={undo ? texts.undoing : texts.progress} done={done} total={total} text={text} />;
}

function ImportFacts({ shown }: { shown: ImportDetail }) {
	const { imports: texts } = useTexts();
	const count = shown.dry_run ? texts.would : texts.did;
	const facts: Fact[] = [
		[count.created, shown.created],
		[count.updated, shown.updated],
		[count.skipped, shown.skipped],
		[count.refused, shown.failed],
		[texts.warned, shown.warned],
		[texts.format, texts.formats[shown.format]],
		[texts.source, shown.source || "–"],
		[texts.started, <Time key="started" at={shown.created_at} />],
		[texts.finished, shown.finished_at ? <Time key="finished" at={shown.finished_at} /> : "–"],
	];
	return <Facts facts={facts} />;
}

/** ImportActions imports a checked file, or undoes an import. */
function ImportActions({ shown }: { shown: ImportDetail }) {
	const { imports: texts } = useTexts();
	const { product } = route.useParams();
	const navigate = route.useNavigate();
	const environment = useEnvironment();
	const queries = useQueryClient();
	const checked = useQuery(checkedQuery(shown.id));
	const [asked, setAsked] = useState(false);
	const onClose = () => setAsked(false);
	if (isRunning(shown) || shown.undo) return null;
	if (!shown.dry_run) {
		if (shown.status !== "done" || shown.created + shown.updated === 0) return null;
		return (
			<Actions>
				<Button size="xs" variant="default" className={layout.bad} onClick={() => setAsked(true)}>
					{texts.undo}
				</Button>
				{asked && (
					<ConfirmDialog
						title={texts.undo}
						text={texts.undoText}
						onClose={onClose}
						send={() => undoImport(environment, shown.id)}
						onDone={() => Promise.all([queries.invalidateQueries({ queryKey: importQuery(environment, shown.id).queryKey }), queries.invalidateQueries({ queryKey: importsKey })])}
					/>
				)}
			</Actions>
		);
	}
	if (!checked.data || shown.status !== "done") {
		return (
			<Button size="xs" variant="default" renderRoot={(props) => <Link to="/account/$product/imports/new" params={{ product }} search={(was) => ({ environment: was.environment })} {...props} />}>
				{texts.chooseAgain}
			</Button>
		);
	}
	const { upload } = checked.data;
	return (
		<Actions>
			<Button size="xs" disabled={shown.created + shown.updated === 0} onClick={() => setAsked(true)}>
				{texts.confirm}
			</Button>
			{asked && (
				<ConfirmDialog
					title={texts.confirm}
					text={texts.confirmText(shown.created, shown.updated, shown.failed)}
					onClose={onClose}
					send={async () => {
						const id = await importFile(environment, upload);
						void queries.invalidateQueries({ queryKey: importsKey });
						await navigate({ to: "/account/$product/imports/$id", params: { product, id }, search: (was) => ({ environment: was.environment }) });
					}}
				/>
			)}
		</Actions>
	);
}

/** Lines lists what is to be said about lines of the file. */
function Lines({ title, lines, total, bad }: { title: string; lines: [line: number, text: string][]; total: number; bad?: boolean }) {
	const { imports: texts } = useTexts();
	if (lines.length === 0) return null;
	return (
		<section className={`panel ${layout.section}`} aria-label={title}>
			<h2>
				{title} <span className="quiet">· {texts.lines(lines.length, total)}</span>
			</h2>
			{/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached with the keyboard */}
			<div className={classes.lines} tabIndex={0} role="group" aria-label={title}>
				<table className={layout.table}>
					<thead>
						<tr>
							<th scope="col" className={layout.number}>
								{texts.line}
							</th>
							<th scope="col">{texts.reason}</th>
						</tr>
					</thead>
					<tbody>
						{lines.map(([line, text]) => (
							<tr key={`${line} ${text}`}>
								<td className={layout.number}>{line}</td>
								<td className={bad ? layout.bad : undefined}>{text}</td>
							</tr>
						))}
					</tbody>
				</table>
			</div>
		</section>
	);
}
