import { Modal } from "@mantine/core";
import { type ReactNode, useEffect, useState } from "react";
import { useLanguage } from "../i18n";
import classes from "./Dialog.module.css";

/** Dialog is a modal window. Mantine's own header would be a second banner of the page, and it returns the focus only where the window stays mounted. */
export function Dialog({ title, onClose, children, size }: { title: string; onClose: () => void; children: ReactNode; size?: "xl" }) {
	const { t } = useLanguage();
	useFocusReturn();
	return (
		<Modal.Root opened onClose={onClose} centered size={size} returnFocus={false}>
			<Modal.Overlay />
			<Modal.Content>
				<div className={classes.head}>
					<Modal.Title>{title}</Modal.Title>
					<Modal.CloseButton aria-label={t.help.close} />
				</div>
				<Modal.Body>{children}</Modal.Body>
			</Modal.Content>
		</Modal.Root>
	);
}

/** useFocusReturn gives the focus back to what opened the window once it closes; where that is gone, to the page's content. */
function useFocusReturn() {
	const [opener] = useState(() => document.activeElement);
	useEffect(
		() => () => {
			const target = opener instanceof HTMLElement && opener !== document.body && opener.isConnected ? opener : document.getElementById("content");
			target?.focus({ preventScroll: true });
		},
		[opener],
	);
}
