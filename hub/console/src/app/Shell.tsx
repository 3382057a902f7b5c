import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useLanguage } from "../i18n";
import { UserMenuButton } from "./UserMenuButton";
import { Frame } from "./Frame";
import { Navigation } from "./Navigation";
import { logOut, useSession } from "./session";

/** Shell is what stands around the operators' screens. */
export function Shell() {
	const { t } = useLanguage();
	const { operator, version } = useSession();
	const queries = useQueryClient();
	const navigate = useNavigate();
	const { environment } = useSearch({ strict: false });
	const leave = async () => {
		await logOut();
		queries.clear();
		await navigate({ to: "/login" });
	};
	return (
		<Frame
			navigation={<Navigation />}
			account={(openHelp) => <UserMenuButton name={operator.name} email={operator.email} role={t.app.roles[operator.role] ?? operator.role} version={version} onHelp={openHelp} onLeave={leave} />}
			searchLabel={t.app.search}
			onSearch={(q) => void navigate({ to: "/deliveries", search: { environment, q } })}
		/>
	);
}
