import { Button, Popover } from "@mantine/core";
import { lazy, Suspense, useState } from "react";
import { useLanguage } from "../i18n";
import classes from "./UserMenu.module.css";
import type { MenuProps } from "./UserMenu";

// What the button opens is not needed for the first screen.
const UserMenu = lazy(() => import("./UserMenu").then(({ UserMenu }) => ({ default: UserMenu })));

/** UserMenuButton is the button of who is logged in, and its menu. */
export function UserMenuButton(props: MenuProps) {
	const { t } = useLanguage();
	const shown = props.name || props.email;
	const [opened, setOpened] = useState(false);
	const [loaded, setLoaded] = useState(false);

	return (
		<Popover opened={opened} onChange={setOpened} width={290} position="bottom-end" shadow="md" trapFocus>
			<Popover.Target>
				<Button
					variant="default"
					size="xs"
					onClick={() => {
						setLoaded(true);
						setOpened((was) => !was);
					}}
					className={classes.target}
					aria-label={`${t.app.account}: ${shown}`}
				>
					<span className={classes.initial} data-initial={shown.slice(0, 1).toUpperCase()} aria-hidden />
					<span className={classes.name}>{shown}</span>
				</Button>
			</Popover.Target>
			{loaded && (
				<Suspense>
					<UserMenu
						{...props}
						onHelp={() => {
							setOpened(false);
							props.onHelp();
						}}
					/>
				</Suspense>
			)}
		</Popover>
	);
}
