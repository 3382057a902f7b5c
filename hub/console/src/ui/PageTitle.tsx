import { useLayoutEffect } from "react";
import { useLanguage } from "../i18n";

/** PageTitle is the heading of a page, which is also its name in the browser's tabs and history. */
export function PageTitle({ title, hidden }: { title: string; hidden?: boolean }) {
	usePageTitle(title);
	return <h1 className={hidden ? "visually-hidden" : undefined}>{title}</h1>;
}

/** usePageTitle names the page in the browser's tabs and history. */
export function usePageTitle(title: string) {
	const { t } = useLanguage();
	useLayoutEffect(() => {
		document.title = title === t.app.name ? title : `${title} · ${t.app.name}`;
	}, [title, t]);
}
