import { Link, useSearch } from "@tanstack/react-router";
import { useLanguage } from "../i18n";
import icon from "./icon.svg";
import classes from "./Navigation.module.css";
import { sections } from "./sections";

export function Navigation() {
	const { t } = useLanguage();
	const { environment } = useSearch({ strict: false });
	return (
		<nav className={classes.nav} aria-label={t.nav.label}>
			<Link to="/" search={{ environment }} className={classes.brand}>
				<img src={icon} width={24} height={24} alt="" />
				{t.app.name}
			</Link>
			{sections.map((section) => (
				<div key={section.title} className={classes.section}>
					<div className={classes.title}>{t.nav[section.title]}</div>
					{section.screens.map((screen) => (
						<Link key={screen.to} to={screen.to} search={{ environment }} className={classes.link} activeOptions={{ includeSearch: false }}>
							{t.nav[screen.label]}
						</Link>
					))}
				</div>
			))}
			<a className={classes.reference} href="/docs">
				{t.app.reference}
			</a>
		</nav>
	);
}
