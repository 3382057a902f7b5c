import { useLanguage } from "../../i18n";
import { Choice } from "../Choice";
import { FilterBar } from "../FilterBar";
import { type DeliverySearch, directions, filterNames, parseToken, statuses, tokensOf } from "./search";

const phoneNumber = /^\+?[\d ().-]{8,40}$/;

type Props = { search: DeliverySearch; ignored?: string; onChange: (changed: DeliverySearch) => void; names?: readonly (keyof DeliverySearch)[]; onPhone?: (phone: string) => void };

/** DeliveryFilters narrows the log. names are the filters that it has. phone:number asks for a person, who is no part of the address. */
export function DeliveryFilters({ search, ignored, onChange, names = filterNames, onPhone }: Props) {
	const { t } = useLanguage();
	const shown = onPhone ? [...names, "phone"] : names;
	return (
		<FilterBar
			tokens={tokensOf(search).filter((token) => token.name !== "status" && token.name !== "direction")}
			names={shown}
			example="type"
			notice={ignored && t.deliveries.ignored(ignored)}
			parse={(name, value) => (name === "phone" && onPhone && phoneNumber.test(value) ? { name, value } : names.some((known) => known === name) ? parseToken(name, value) : undefined)}
			onAdd={({ phone, ...added }) => (phone && onPhone ? onPhone(phone) : onChange(added))}
			onRemove={(token) => onChange({ [token.name]: undefined })}
		>
			<Choice label={t.deliveries.status} value={search.status} values={statuses} texts={t.status} onChange={(status) => onChange({ status })} />
			<Choice label={t.deliveries.direction} value={search.direction} values={directions} texts={t.direction} onChange={(direction) => onChange({ direction })} />
		</FilterBar>
	);
}
