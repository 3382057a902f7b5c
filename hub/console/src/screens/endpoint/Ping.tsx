import { TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { useScreenTexts } from "../../i18n/screens";
import { FormDialog } from "../../ui/Form";
import { tenantQuery } from "../../ui/TenantName";
import type { Endpoint } from "../endpoints/queries";
import { examplesQuery, pingEndpoint } from "./queries";

const plain = "hub.ping";

/** Ping sends hub.ping, or the example of an event type. It offers the types that have one. */
export function Ping({ endpoint, onClose, onDone }: { endpoint: Endpoint; onClose: () => void; onDone: (eventType: string) => void }) {
	const { endpoints: texts } = useScreenTexts();
	const list = useId();
	const { data: tenant } = useQuery(tenantQuery(endpoint.tenant_id));
	const examples = useQuery({ ...examplesQuery(tenant?.product ?? ""), enabled: tenant !== undefined });
	return (
		<FormDialog
			title={texts.ping}
			onClose={onClose}
			send={async ({ maybe }) => {
				await pingEndpoint(endpoint.id, maybe("event_type"));
				onDone(maybe("event_type") ?? plain);
			}}
		>
			<TextInput name="event_type" maxLength={128} list={list} label={texts.pingType} description={texts.pingHelp} placeholder={plain} data-autofocus />
			<datalist id={list}>
				{[...new Set([plain, ...(examples.data ?? [])])].map((name) => (
					<option key={name} value={name} />
				))}
			</datalist>
		</FormDialog>
	);
}
