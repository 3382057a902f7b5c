import { Modal } from "@mantine/core";
import { type ReactNode, useEffect, useState } from "react";
import { client } from "../api/client";
import { hasSessionEnded, useSessionEnded } from "../api/sessionEnd";
import { useLanguage } from "../i18n";
import classes from "./Dialog.module.css";
import layout from "./layout.module.css";

type Props = {
	title: string;
	onClose: () => void;
	children: ReactNode;
	size?: "xl";
	/** locked is whether only its buttons close it: Escape and a click beside it would lose what it shows. */
	locked?: boolean;
	/** busy is whether nothing closes it. */
	busy?: boolean;
};

/** Dialog is a modal window. Mantine's own header would be a second banner of the page, and it returns the focus only where the window stays mounted. */
export function Dialog({ title, onClose, children, size, locked, busy }: Props) {
	const { t } = useLanguage();
	useFocusReturn();
	return (
		<Modal.Root opened onClose={onClose} centered size={size} returnFocus={false} closeOnEscape={!locked && !busy} closeOnClickOutside={!locked && !busy}>
			<Modal.Overlay />
			<Modal.Content>
				<div className={classes.head}>
					<Modal.Title>{title}</Modal.Title>
					<Modal.CloseButton aria-label={t.help.close} disabled={busy} />
				</div>
				<Modal.Body>
					<SessionEnd />
					{children}
				</Modal.Body>
			</Modal.Content>
		</Modal.Root>
	);
}

/** SessionEnd says how to go on where the session ended. Once the window is closed, the login follows. */
function SessionEnd() {
	const { t } = useLanguage();
	const ended = useSessionEnded();
	useEffect(() => () => void (hasSessionEnded() && client.GET("/api/v1/session").catch(() => {})), []);
	if (!ended) return null;
	return (
		<p role="alert" className={layout.bad}>
			{t.states.sessionEnded}{" "}
			<a href="/login" target="_blank" rel="noreferrer">
				{t.login.submit}
			</a>
		</p>
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
