import { NativeSelect, Popover, Switch, UnstyledButton, useMantineColorScheme } from "@mantine/core";
import { useState } from "react";
import { useLanguage } from "../i18n";
import { detailOf } from "../ui/errors";
import classes from "./UserMenu.module.css";
import { LanguageSelect } from "./LanguageSelect";
import { usePreferences } from "./preferences";

export type MenuProps = { name: string; email: string; role: string; version?: string; onHelp: () => void; onLeave: () => Promise<void> };

/** UserMenu is what the account's button opens: who is logged in, their preferences, the way out. */
export function UserMenu({ name, email, role, version, onHelp, onLeave }: MenuProps) {
	const { t } = useLanguage();
	const { colorScheme, setColorScheme } = useMantineColorScheme();
	const { utc, shortcuts, change } = usePreferences();
	const [error, setError] = useState("");

	return (
		<Popover.Dropdown p={0} aria-label={t.app.account}>
			<div className={classes.who}>
				<strong>{email || name}</strong>
				<span className="quiet">{role}</span>
			</div>
			<hr className={classes.line} />
			<div className={classes.settings}>
				<span>{t.app.language}</span>
				<LanguageSelect />
				<span>{t.app.theme}</span>
				<NativeSelect
					size="xs"
					aria-label={t.app.theme}
					value={colorScheme}
					onChange={(event) => setColorScheme(event.currentTarget.value as "light" | "dark" | "auto")}
					data={(["auto", "light", "dark"] as const).map((value) => ({ value, label: t.app.themes[value] }))}
				/>
				<span>{t.app.times}</span>
				<NativeSelect
					size="xs"
					aria-label={t.app.times}
					value={utc ? "utc" : "local"}
					onChange={(event) => change({ utc: event.currentTarget.value === "utc" })}
					data={[
						{ value: "local", label: t.app.local },
						{ value: "utc", label: t.app.utc },
					]}
				/>
			</div>
			<Switch
				className={classes.switch}
				size="sm"
				labelPosition="left"
				label={t.app.shortcuts}
				checked={shortcuts}
				onChange={(event) => change({ shortcuts: event.currentTarget.checked })}
			/>
			<hr className={classes.line} />
			<UnstyledButton className={classes.item} onClick={onHelp}>
				{t.app.help} <kbd aria-hidden>?</kbd>
			</UnstyledButton>
			<UnstyledButton className={classes.item} onClick={() => void onLeave().catch((failure: unknown) => setError(`${t.ui.failed} ${detailOf(failure)}`))}>
				{t.app.logout}
			</UnstyledButton>
			<div role="alert" className={classes.error}>
				{error}
			</div>
			{version && <div className={`quiet ${classes.version}`}>{t.app.version(version)}</div>}
		</Popover.Dropdown>
	);
}
