import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEnvironment } from "../../../app/EnvironmentSwitch";
import { ListScreen } from "../../../ui/ListScreen";
import layout from "../../../ui/layout.module.css";
import { Time } from "../../../ui/Time";
import type { Column } from "../../../ui/VirtualTable";
import { useTexts } from "../../i18n";
import { ImportState } from "./ImportState";
import { type Import, importsQuery } from "./queries";

const route = getRouteApi("/account/$product/imports");

/** Imports lists the imports of patients, and the checks before them. */
export function Imports() {
	const { imports: texts } = useTexts();
	const { product } = route.useParams();
	const list = useInfiniteQuery(importsQuery(useEnvironment()));
	const number = (title: string, value: (row: Import) => number): Column<Import> => ({ title, width: "96px", cell: value });
	const columns: Column<Import>[] = [
		{ title: texts.status, width: "130px", cell: (row) => <ImportState row={row} /> },
		{
			title: texts.kind,
			width: "minmax(170px, 1.4fr)",
			cell: (row) => (
				<Link to="/account/$product/imports/$id" params={{ product, id: row.id }} search={(was) => ({ environment: was.environment })} className={layout.name} preload={false} data-row-link>
					{row.dry_run ? texts.check : texts.import} <span className="quiet">· {texts.formats[row.format]}</span>
				</Link>
			),
		},
		{ title: texts.source, width: "minmax(100px, 1fr)", cell: (row) => <span className="quiet">{row.source || "–"}</span> },
		number(texts.rows, (row) => row.total),
		number(texts.created, (row) => row.created),
		number(texts.updated, (row) => row.updated),
		number(texts.refused, (row) => row.failed),
		{ title: texts.started, width: "110px", cell: (row) => <Time at={row.created_at} focusable={false} /> },
	];
	const begin = (
		<Button size="xs" renderRoot={(props) => <Link to="/account/$product/imports/new" params={{ product }} search={(was) => ({ environment: was.environment })} {...props} />}>
			{texts.begin}
		</Button>
	);
	return <ListScreen title={texts.title} lead={texts.lead} list={list} columns={columns} keyOf={(row) => row.id} empty={{ title: texts.emptyTitle, text: texts.empty, next: begin }} actions={begin} />;
}
