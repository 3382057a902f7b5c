import { useLanguage } from "../../i18n";
import { Time } from "../Time";
import type { Column } from "../VirtualTable";
import { State, type StatusFields } from "./State";

type Row = StatusFields & { product: string; last_health_check: string | null; features: string[] };

/** useIntegrationColumns returns the columns that every list of integrations has. */
export function useIntegrationColumns(): { state: Column<Row>; checked: Column<Row>; features: Column<Row> } {
	const { t } = useLanguage();
	return {
		state: { title: t.integrations.status, width: "112px", cell: (row) => <State integration={row} /> },
		checked: { title: t.integrations.checked, width: "140px", cell: (row) => (row.last_health_check ? <Time at={row.last_health_check} focusable={false} /> : <span className="quiet">{t.integrations.never}</span>) },
		features: { title: t.integrations.features, width: "minmax(130px, 1.2fr)", cell: (row) => <span className="quiet">{row.features.join(", ") || "–"}</span> },
	};
}
