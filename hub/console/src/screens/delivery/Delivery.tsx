import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { uuid } from "../../app/search";
import { useLanguage } from "../../i18n";
import { DeliveryView } from "../../ui/delivery/DeliveryView";
import type { Delivery as Shown } from "../../ui/delivery/types";
import { Copy } from "../../ui/Copy";
import { Loaded } from "../../ui/Detail";
import { tenantQuery } from "../../ui/TenantName";
import { Discard } from "./Discard";
import { deliveryQuery, receiverQuery, retryDelivery } from "./queries";

const route = getRouteApi("/shell/deliveries/$id");

export function Delivery() {
	const { t } = useLanguage();
	const { id } = route.useParams();
	const delivery = useQuery({ ...deliveryQuery(id), enabled: uuid.test(id) });
	return (
		<Loaded query={delivery} what={t.delivery.what} id={id}>
			{(data) => <Details key={id} delivery={data} />}
		</Loaded>
	);
}

function Details({ delivery }: { delivery: Shown }) {
	const { t } = useLanguage();
	const { environment, ...shown } = route.useSearch();
	const navigate = route.useNavigate();
	const queries = useQueryClient();
	const tenant = useQuery({ ...tenantQuery(delivery.tenant_id ?? ""), enabled: delivery.tenant_id !== null });
	const receiver = useQuery(receiverQuery(delivery));
	const refresh = () => Promise.all([queries.invalidateQueries({ queryKey: ["delivery", delivery.id] }), queries.invalidateQueries({ queryKey: ["deliveries"], refetchType: "none" })]);
	const correlation = (id: string) => (
		<>
			<Link to="/deliveries" search={{ environment, correlation: id }} className="mono">
				{id}
			</Link>
			<Copy text={id} />{" "}
			<Link to="/journey" search={{ environment, correlation: id }}>
				{t.delivery.journey}
			</Link>
		</>
	);
	return (
		<DeliveryView
			delivery={delivery}
			shown={shown}
			onShow={(chosen) => void navigate({ search: (was) => ({ ...was, ...chosen }), replace: true })}
			back={
				<Link to="/deliveries" search={{ environment }}>
					{t.delivery.back}
				</Link>
			}
			url={receiver.data?.url}
			retry={() => retryDelivery(delivery.id)}
			onRetried={refresh}
			facts={{
				correlation,
				tenant: `${tenant.data?.name ?? delivery.tenant_id ?? "–"} · ${delivery.product}`,
				receiver: (
					<>
						{delivery.endpoint_id ? t.delivery.endpoint : t.delivery.integration}
						{receiver.data?.name && ` · ${receiver.data.name}`}
						{receiver.isError && ` · ${t.delivery.deleted}`}
						{receiver.data?.url && (
							<>
								<br />
								<span className="mono">{receiver.data.url}</span> <Copy text={receiver.data.url} />
							</>
						)}
					</>
				),
			}}
			deliveryLink={(id, text) => (
				<Link to="/deliveries/$id" params={{ id }} search={{ environment }}>
					{text}
				</Link>
			)}
			actions={<Discard delivery={delivery} ordered={receiver.data?.ordered === true} onDone={refresh} />}
			integrationLink={(id, text) => (
				<Link to="/integrations/$id" params={{ id }} search={{ environment }}>
					{text}
				</Link>
			)}
		/>
	);
}
