import type { ReactNode } from "react";
import { useLanguage } from "../../i18n";
import layout from "../layout.module.css";
import { Status } from "../Status";
import { Time } from "../Time";
import type { Column } from "../VirtualTable";
import type { Row } from "./paging";

/** useDeliveryColumns returns the columns of the log. link opens a delivery; of the tenant's there is a column where the log has several. */
export function useDeliveryColumns(link: (row: Row) => ReactNode, tenant?: (row: Row) => ReactNode): Column<Row>[] {
	const { t } = useLanguage();
	const tenants: Column<Row>[] = tenant ? [{ title: t.deliveries.tenant, width: "minmax(110px, 1fr)", cell: tenant }] : [];
	return [
		{ title: t.deliveries.status, width: "126px", cell: (row) => <span title={row.behind_in_order ? t.waiting.causes.behind_in_order : undefined}><Status status={row.status} text={row.behind_in_order ? t.deliveries.behind : undefined} /></span> },
		{ title: t.deliveries.event, width: "minmax(170px, 2fr)", cell: link },
		{ title: t.deliveries.direction, width: "76px", cell: (row) => <span className="quiet">{t.direction[row.direction]}</span> },
		{ title: t.deliveries.product, width: "minmax(84px, 0.7fr)", cell: (row) => row.product },
		...tenants,
		{
			title: t.deliveries.attempts,
			width: "76px",
			cell: (row) => (
				<>
					{row.attempt_count || "–"}
					{row.status_code !== null && <span className={row.status_code >= 400 ? layout.bad : "quiet"}> · {row.status_code}</span>}
				</>
			),
		},
		{ title: t.deliveries.next, width: "108px", cell: (row) => (row.next_attempt_at ? <Time at={row.next_attempt_at} focusable={false} /> : <span className="quiet">–</span>) },
		{ title: t.deliveries.time, width: "96px", cell: (row) => <Time at={row.created_at} focusable={false} /> },
	];
}
