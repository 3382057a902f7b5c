import { useScreenTexts } from "../../i18n/screens";
import { Area, Check, type Values } from "../../ui/Form";

export type ReceiverSettings = { headers?: Record<string, string> | null; client_certificate?: { certificate: string; key: string } | null };

/** receiverSettings reads the fields: what is empty stays as it is. */
export function receiverSettings({ text, checked }: Values): ReceiverSettings {
	const settings: ReceiverSettings = {};
	const lines = text("own_headers").split("\n").filter((line) => line.trim());
	if (checked("no_headers")) settings.headers = null;
	else if (lines.length > 0) {
		settings.headers = Object.fromEntries(
			lines.map((line) => {
				const at = line.indexOf(":");
				return at > 0 ? [line.slice(0, at).trim(), line.slice(at + 1).trim()] : [line.trim(), ""];
			}),
		);
	}
	const [certificate, key] = [text("certificate"), text("key")];
	if (checked("no_certificate")) settings.client_certificate = null;
	else if (certificate || key) settings.client_certificate = { certificate, key };
	return settings;
}

/** ReceiverFields are the headers and the client certificate of an endpoint; what is stored is not shown. */
export function ReceiverFields({ hasHeaders, hasCertificate }: { hasHeaders?: boolean; hasCertificate?: boolean }) {
	const { endpoints } = useScreenTexts();
	return (
		<details>
			<summary>{endpoints.receiver}</summary>
			<Area name="own_headers" label={hasHeaders ? endpoints.otherHeaders : endpoints.ownHeaders} rows={2} maxLength={44_000} placeholder="Authorization: Bearer …" />
			{hasHeaders && <Check name="no_headers" label={endpoints.noHeaders} />}
			<Area name="certificate" label={hasCertificate ? endpoints.otherCertificate : endpoints.certificate} rows={2} maxLength={65_536} placeholder="-----BEGIN CERTIFICATE-----" />
			<Area name="key" label={endpoints.clientKey} rows={2} maxLength={16_384} placeholder="-----BEGIN PRIVATE KEY-----" />
			{hasCertificate && <Check name="no_certificate" label={endpoints.noCertificate} />}
		</details>
	);
}
