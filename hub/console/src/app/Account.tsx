import { Button, NativeSelect, Popover, Switch, UnstyledButton, useMantineColorScheme } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useLanguage } from "../i18n";
import classes from "./Account.module.css";
import { LanguageSelect } from "./LanguageSelect";
import { usePreferences } from "./preferences";
import { logOut, useSession } from "./session";

export function Account({ onHelp }: { onHelp: () => void }) {
	const { t } = useLanguage();
	const { operator, version } = useSession();
	const { colorScheme, setColorScheme } = useMantineColorScheme();
	const { utc, shortcuts, change } = usePreferences();
	const queries = useQueryClient();
	const navigate = useNavigate();
	const [opened, setOpened] = useState(false);

	const leave = async () => {
		await logOut();
		queries.clear();
		await navigate({ to: "/login" });
	};

	return (
		<Popover opened={opened} onChange={setOpened} width={290} position="bottom-end" shadow="md" trapFocus>
			<Popover.Target>
				<Button variant="default" size="xs" onClick={() => setOpened((was) => !was)} className={classes.target} aria-label={`${t.app.account}: ${operator.name || operator.email}`}>
					<span className={classes.initial} data-initial={(operator.name || operator.email).slice(0, 1).toUpperCase()} aria-hidden />
					<span className={classes.name}>{operator.name || operator.email}</span>
				</Button>
			</Popover.Target>
			<Popover.Dropdown p={0} aria-label={t.app.account}>
				<div className={classes.who}>
					<strong>{operator.email || operator.name}</strong>
					<span className="quiet">{t.app.roles[operator.role]}</span>
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
				<UnstyledButton
					className={classes.item}
					onClick={() => {
						setOpened(false);
						onHelp();
					}}
				>
					{t.app.help} <kbd aria-hidden>?</kbd>
				</UnstyledButton>
				<UnstyledButton className={classes.item} onClick={() => void leave()}>
					{t.app.logout}
				</UnstyledButton>
				<div className={`quiet ${classes.version}`}>{t.app.version(version)}</div>
			</Popover.Dropdown>
		</Popover>
	);
}
