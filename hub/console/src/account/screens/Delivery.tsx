import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useEnvironment } from "../../app/EnvironmentSwitch";
import { uuid } from "../../app/search";
import { useLanguage } from "../../i18n";
import { Copy } from "../../ui/Copy";
import { Loaded } from "../../ui/Detail";
import { DeliveryView } from "../../ui/delivery/DeliveryView";
import type { LogDetail } from "../client";
import { useTexts } from "../i18n";
import { useProduct } from "../session";
import { deliveryQuery, retryDelivery } from "./queries";

const from = "/account/$product/log/$id";

export function AccountDelivery() {
	const { t } = useLanguage();
	const product = useProduct();
	const environment = useEnvironment();
	const { id } = useParams({ from });
	const delivery = useQuery({ ...deliveryQuery(product, environment, id), enabled: uuid.test(id) });
	return (
		<Loaded query={delivery} what={t.delivery.what} id={id}>
			{(data) => <Details key={id} delivery={data} />}
		</Loaded>
	);
}

function Details({ delivery }: { delivery: LogDetail }) {
	const { t } = useLanguage();
	const texts = useTexts();
	const product = useProduct();
	const environment = useEnvironment();
	const { environment: inAddress, ...shown } = useSearch({ from });
	const navigate = useNavigate({ from });
	const queries = useQueryClient();
	return (
		<DeliveryView
			delivery={delivery}
			shown={shown}
			onShow={(chosen) => void navigate({ search: (was) => ({ ...was, ...chosen }), replace: true })}
			back={
				<Link to="/account/$product/log" params={{ product }} search={{ environment: inAddress }}>
					{texts.log.title}
				</Link>
			}
			retry={() => retryDelivery(product, environment, delivery.id)}
			onRetried={() =>
				Promise.all([
					queries.invalidateQueries({ queryKey: deliveryQuery(product, environment, delivery.id).queryKey }),
					queries.invalidateQueries({ queryKey: ["account", product, "log"], refetchType: "none" }),
				])
			}
			facts={{
				correlation: (id) => (
					<>
						<Link to="/account/$product/log" params={{ product }} search={{ environment: inAddress, correlation: id }} className="mono">
							{id}
						</Link>{" "}
						<Copy text={id} />
					</>
				),
				receiver: (
					<>
						{delivery.endpoint_id ? t.delivery.endpoint : t.delivery.integration}
						{delivery.receiver && (
							<>
								<br />
								<span className="mono">{delivery.receiver}</span> <Copy text={delivery.receiver} />
							</>
						)}
					</>
				),
			}}
			deliveryLink={(id, text) => (
				<Link to="/account/$product/log/$id" params={{ product, id }} search={{ environment: inAddress }}>
					{text}
				</Link>
			)}
			integrationLink={(id, text) => (
				<Link to="/account/$product/integrations/$id" params={{ product, id }} search={{ environment: inAddress }}>
					{text}
				</Link>
			)}
		/>
	);
}
