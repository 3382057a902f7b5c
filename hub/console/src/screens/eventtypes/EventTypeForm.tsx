import { TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { ApiError } from "../../api/client";
import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import { Area, Check, FormDialog, Select, type Values } from "../../ui/Form";
import { indentedJSON, JSONText } from "../../ui/json";
import { productsQuery } from "../tenants/queries";
import { createEventType, type EventType, type Settings, updateEventType } from "./queries";

/** parsed reads the JSON of a field; an empty one is null. */
function parsed(values: Values, name: "schema" | "example"): JSONText | null {
	const text = values.text(name);
	if (text === "") return null;
	try {
		JSON.parse(text);
		return new JSONText(text);
	} catch (error) {
		throw new ApiError(422, { status: 422, code: "validation_failed", title: "", type: "about:blank", detail: `${name}: ${(error as Error).message}`, errors: [], request_id: "" });
	}
}

const settingsOf = (values: Values): Settings => ({ description: values.text("description"), schema: parsed(values, "schema"), example: parsed(values, "example"), deprecated: values.checked("deprecated") });

type Props = { eventType?: EventType; product?: string; onClose: () => void; onDone: (saved: { id: string }) => unknown };

/** EventTypeForm makes a type of an external product, or changes one. */
export function EventTypeForm({ eventType, product, onClose, onDone }: Props) {
	const { t } = useLanguage();
	const { eventTypes: texts } = useScreenTexts();
	const products = useQuery(productsQuery);
	const external = products.data?.items.filter((item) => !item.hosted) ?? [];
	const save = async (values: Values) => {
		const settings = settingsOf(values);
		await onDone(await (eventType ? updateEventType(eventType.id, settings) : createEventType({ product: values.text("product"), name: values.text("name"), ...settings })));
	};
	return (
		<FormDialog title={eventType ? texts.edit : texts.create} onClose={onClose} send={save} disabled={!eventType && external.length === 0}>
			{!eventType && (
				<>
					{products.isSuccess && external.length === 0 && <p>{texts.noExternal}</p>}
					<Select key={external.length} name="product" required label={texts.product} value={product} options={external.map((item) => [item.name, `${item.title} · ${item.name}`])} />
					<TextInput name="name" required maxLength={128} label={t.ui.name} description={texts.nameHelp} />
				</>
			)}
			<TextInput name="description" maxLength={1000} defaultValue={eventType?.description} label={texts.description} />
			<Area name="schema" rows={10} maxLength={65_536} label={texts.schemaLabel} value={indentedJSON(eventType?.schema ?? "")} />
			<Area name="example" rows={6} maxLength={65_536} label={texts.exampleLabel} value={indentedJSON(eventType?.example ?? "")} />
			<Check name="deprecated" label={texts.deprecatedLabel} checked={eventType?.deprecated} />
		</FormDialog>
	);
}
