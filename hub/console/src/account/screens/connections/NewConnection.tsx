import { TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { FormDialog, Select } from "../../../ui/Form";
import { useTexts } from "../../i18n";
import { AccountFields, accountOf } from "./AccountFields";
import { connectionsKey, createConnection } from "./queries";

const drivers = ["sandbox", "cloud", "bridge"] as const;

/** NewConnection makes a connection, and leads to its page, where its QR code is. */
export function NewConnection({ onClose }: { onClose: () => void }) {
	const { connections: texts } = useTexts();
	const { product } = useParams({ from: "/account/$product" });
	const navigate = useNavigate();
	const queries = useQueryClient();
	const [driver, setDriver] = useState<string>(drivers[0]);
	return (
		<FormDialog
			title={texts.create}
			onClose={onClose}
			send={async (values) => {
				const { id } = await createConnection({ name: values.text("name"), driver, ...accountOf(driver, values) });
				void queries.invalidateQueries({ queryKey: connectionsKey });
				await navigate({ to: "/account/$product/connections/$id", params: { product, id: String(id) }, search: (was) => ({ environment: was.environment }) });
			}}
		>
			<TextInput name="name" required minLength={2} maxLength={60} label={texts.name} data-autofocus />
			<Select name="driver" label={texts.driver} value={driver} options={drivers.map((name) => [name, texts.drivers[name] ?? name])} onChange={setDriver} />
			<p className="quiet">{texts.driverHelp[driver]}</p>
			<AccountFields driver={driver} required />
		</FormDialog>
	);
}
