import { useLanguage } from "../../i18n";
import { Choice } from "../Choice";
import { FilterBar } from "../FilterBar";
import { type DeliverySearch, directions, filterNames, parseToken, statuses, tokensOf } from "./search";

type Props = { search: DeliverySearch; onChange: (changed: DeliverySearch) => void; names?: readonly (keyof DeliverySearch)[] };

/** DeliveryFilters narrows the log. names are the filters that it has. */
export function DeliveryFilters({ search, onChange, names = filterNames }: Props) {
	const { t } = useLanguage();
	return (
		<FilterBar
			tokens={tokensOf(search).filter((token) => token.name !== "status" && token.name !== "direction")}
			names={names}
			example="type"
			parse={(name, value) => (names.some((known) => known === name) ? parseToken(name, value) : undefined)}
			onAdd={(token) => onChange({ [token.name]: token.value })}
			onRemove={(token) => onChange({ [token.name]: undefined })}
		>
			<Choice label={t.deliveries.status} value={search.status} values={statuses} texts={t.status} onChange={(status) => onChange({ status })} />
			<Choice label={t.deliveries.direction} value={search.direction} values={directions} texts={t.direction} onChange={(direction) => onChange({ direction })} />
		</FilterBar>
	);
}
