import { useQuery } from "@tanstack/react-query";
import { useEnvironment } from "../../app/EnvironmentSwitch";
import { useLanguage } from "../../i18n";
import { useIntegrationColumns } from "../../ui/integration/columns";
import { ListScreen } from "../../ui/ListScreen";
import page from "../../ui/page.module.css";
import type { Column } from "../../ui/VirtualTable";
import type { Integration } from "../client";
import { useTexts } from "../i18n";
import { useProduct } from "../session";
import { integrationsQuery } from "./queries";

export function AccountIntegrations() {
	const { t } = useLanguage();
	const texts = useTexts();
	const product = useProduct();
	const environment = useEnvironment();
	const list = useQuery(integrationsQuery(product, environment));
	const { state, checked, features } = useIntegrationColumns();
	const columns: Column<Integration>[] = [state, { title: t.integrations.peer, width: "minmax(120px, 1fr)", cell: (row) => <span className={page.name}>{row.product}</span> }, checked, features];
	return (
		<ListScreen
			title={t.integrations.title}
			lead={texts.integrations.lead}
			list={list}
			columns={columns}
			keyOf={(row) => row.id}
			empty={{ title: t.integrations.emptyTitle, text: texts.integrations.empty, next: null }}
		/>
	);
}
