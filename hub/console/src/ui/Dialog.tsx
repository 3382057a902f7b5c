import { Modal } from "@mantine/core";
import { createContext, type ReactNode, use, useEffect, useState } from "react";
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
	/** busy is whether nothing closes it. */
	busy?: boolean;
};

const Lock = createContext<(locked: boolean) => void>(() => {});

/** useLock keeps a window open for what is shown once: only its buttons close it, not Escape or a click beside it. */
export function useLock() {
	const lock = use(Lock);
	useEffect(() => {
		lock(true);
		return () => lock(false);
	}, [lock]);
}

/** Dialog is a modal window. Mantine's own header would be a second banner of the page, and it returns the focus only where the window stays mounted. */
export function Dialog({ title, onClose, children, size, busy }: Props) {
	const { t } = useLanguage();
	const [locked, setLocked] = useState(false);
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
					<Lock value={setLocked}>{children}</Lock>
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
