import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { UserMenuButton } from "../app/UserMenuButton";
import { Frame } from "../app/Frame";
import { basePath, type ProductName } from "../app/hosted";
import { Sections } from "../app/Navigation";
import { useTexts } from "./i18n";
import { sections } from "./sections";
import { logOut, useAccount } from "./session";
import { whenLoginEnds } from "./tokens";

/** AccountShell is what stands around the screens of a product's account. */
export function AccountShell() {
	const texts = useTexts();
	const account = useAccount();
	const { product } = account;
	const queries = useQueryClient();
	const navigate = useNavigate();
	useEffect(() => {
		whenLoginEnds((ended: ProductName) => {
			queries.removeQueries({ queryKey: ["account", ended] });
			void navigate({ to: "/login", search: { as: ended, to: window.location.pathname + window.location.search, ended: "1" }, replace: true });
		});
	}, [queries, navigate]);
	const leave = async () => {
		await logOut(product);
		await navigate({ to: "/login", search: { as: product } });
		queries.removeQueries({ queryKey: ["account", product] });
	};
	const role = texts.shell.roles[account.role] ?? account.role;
	const shown = sections.map(({ title, screens }) => ({
		title: texts.nav[title],
		links: screens.filter(({ products }) => !products || products.includes(product)).map(({ to, label }) => ({ to, params: { product }, label: texts.nav[label] })),
	}));
	return (
		<Frame
			navigation={<Sections home={{ to: "/account/$product", params: { product } }} title={account.tenant} reference={`${basePath(product)}/docs`} sections={shown.filter(({ links }) => links.length > 0)} />}
			account={(openHelp) => <UserMenuButton name={account.name} email={account.email} role={`${role} · ${account.tenant}`} onHelp={openHelp} onLeave={leave} />}
			searchLabel={texts.shell.search}
			onSearch={(q) => void navigate({ to: "/account/$product/log", params: { product }, search: (was) => ({ environment: was.environment, q }) })}
		/>
	);
}
