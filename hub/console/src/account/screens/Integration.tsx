import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useEnvironment } from "../../app/EnvironmentSwitch";
import { uuid } from "../../app/search";
import { useLanguage } from "../../i18n";
import { Detail, Loaded } from "../../ui/Detail";
import { IntegrationActions } from "../../ui/integration/Actions";
import { IntegrationFacts, LastError } from "../../ui/integration/Facts";
import { State } from "../../ui/integration/State";
import layout from "../../ui/layout.module.css";
import type { Integration } from "../client";
import { useTexts } from "../i18n";
import { useProduct } from "../session";
import { integrationActs, integrationQuery, integrationsKey } from "./queries";

export function AccountIntegration() {
	const { t } = useLanguage();
	const product = useProduct();
	const environment = useEnvironment();
	const { id } = useParams({ from: "/account/$product/integrations/$id" });
	const integration = useQuery({ ...integrationQuery(product, environment, id), enabled: uuid.test(id) });
	return (
		<Loaded query={integration} what={t.integrations.what} id={id}>
			{(data) => <Details key={id} integration={data} />}
		</Loaded>
	);
}

function Details({ integration }: { integration: Integration }) {
	const { t } = useLanguage();
	const texts = useTexts();
	const product = useProduct();
	const environment = useEnvironment();
	const queries = useQueryClient();
	const { id } = integration;
	return (
		<Detail
			back={
				<Link to="/account/$product/integrations" params={{ product }} search={(was) => ({ environment: was.environment })}>
					{t.integrations.back}
				</Link>
			}
			title={integration.product}
			state={<State integration={integration} />}
			actions={
				!integration.revoked_at && (
					<IntegrationActions
						disabled={integration.disabled}
						name={integration.product}
						acts={integrationActs(product, environment, id)}
						onDone={() => queries.invalidateQueries({ queryKey: integrationsKey(product, environment) })}
						texts={{ revoke: texts.integrations.disconnect, revokeText: texts.integrations.disconnectText(integration.product) }}
					/>
				)
			}
		>
			<LastError text={integration.last_error} />
			<IntegrationFacts integration={integration} />
			<p className={layout.option}>
				<Link to="/account/$product/log" params={{ product }} search={(was) => ({ environment: was.environment, integration: id })}>
					{t.integrations.deliveries}
				</Link>
			</p>
		</Detail>
	);
}
