import { useLanguage } from "../../i18n";

/** Reason says why a delivery or an endpoint is in its state. The API's code is its title. */
export function Reason({ code }: { code: string }) {
	const { t } = useLanguage();
	return <span title={code}>{t.delivery.reasons[code] ?? code}</span>;
}
