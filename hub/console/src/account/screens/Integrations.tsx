import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEnvironment } from "../../app/EnvironmentSwitch";
import { useLanguage } from "../../i18n";
import { useIntegrationColumns } from "../../ui/integration/columns";
import { ListScreen } from "../../ui/ListScreen";
import layout from "../../ui/layout.module.css";
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
	const connect = (
		<Button size="xs" renderRoot={(props) => <Link to="/account/$product/connect" params={{ product }} search={(was) => ({ environment: was.environment })} {...props} />}>
			{texts.integrations.connect}
		</Button>
	);
	const columns: Column<Integration>[] = [
		state,
		{
			title: t.integrations.peer,
			width: "minmax(120px, 1fr)",
			cell: (row) => (
				<Link to="/account/$product/integrations/$id" params={{ product, id: row.id }} search={(was) => ({ environment: was.environment })} className={layout.name} preload={false} data-row-link>
					{row.product}
				</Link>
			),
		},
		checked,
		features,
	];
	return (
		<ListScreen
			title={t.integrations.title}
			lead={texts.integrations.lead}
			list={list}
			columns={columns}
			keyOf={(row) => row.id}
			empty={{ title: t.integrations.emptyTitle, text: texts.integrations.empty, next: connect }}
			actions={list.isSuccess && connect}
		/>
	);
}
