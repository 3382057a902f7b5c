import { TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { client, read } from "../api/client";
import { useScreenTexts } from "../i18n/screens";

/**
 * EventTypeNames is the field for event types. It offers the names that are described, the hub's own
 * among them; product limits them to one's.
 */
export function EventTypeNames({ value = "*", product }: { value?: string; product?: string }) {
	const { endpoints: texts } = useScreenTexts();
	const list = useId();
	const [typed, setTyped] = useState(value);
	const known = useQuery({ queryKey: ["event-types", "names", product], queryFn: () => read(client.GET("/api/v1/event-types", { params: { query: { product, limit: 200 } } })) });
	const before = typed.replace(/[^\s,]*$/, "");
	const names = [...new Set(known.data?.items.map((type) => type.name))];
	return (
		<>
			<TextInput name="types" required maxLength={2000} value={typed} onChange={(event) => setTyped(event.currentTarget.value)} list={list} label={texts.types} description={product ? undefined : texts.typesHelp} />
			<datalist id={list}>
				{names.map((name) => (
					<option key={name} value={before + name} />
				))}
			</datalist>
		</>
	);
}
