import { Link, type LinkProps, useSearch } from "@tanstack/react-router";
import { useLanguage } from "../i18n";
import { useAdmin } from "../ui/useAdmin";
import icon from "./icon.svg";
import classes from "./Navigation.module.css";
import { sections } from "./sections";

export type Section = { title: string; links: { to: LinkProps["to"]; params?: Record<string, string>; label: string }[] };

/** Sections is a navigation: the way home, groups of links, and the API reference. */
export function Sections({ home, title, sections, reference }: { home: Omit<Section["links"][number], "label">; title: string; sections: Section[]; reference: string }) {
	const { t } = useLanguage();
	const { environment } = useSearch({ strict: false });
	return (
		<nav className={classes.nav} aria-label={t.nav.label}>
			<Link to={home.to} params={home.params as never} search={{ environment } as never} className={classes.brand}>
				<img src={icon} width={24} height={24} alt="" />
				{title}
			</Link>
			{sections.map((section) => (
				<div key={section.title} className={classes.section}>
					<div className={classes.title}>{section.title}</div>
					{section.links.map(({ to, params, label }) => (
						<Link key={to} to={to} params={params as never} search={{ environment } as never} className={classes.link} activeOptions={{ includeSearch: false }}>
							{label}
						</Link>
					))}
				</div>
			))}
			<a className={classes.reference} href={reference}>
				{t.app.reference}
			</a>
		</nav>
	);
}

/** Navigation is that of operators. */
export function Navigation() {
	const { t } = useLanguage();
	const isAdmin = useAdmin();
	const seen = sections.map(({ title, screens }) => ({ title: t.nav[title], links: screens.filter((screen) => isAdmin || !("adminsOnly" in screen)).map(({ to, label }) => ({ to, label: t.nav[label] })) }));
	return <Sections home={{ to: "/" }} title={t.app.name} reference="/docs" sections={seen} />;
}
