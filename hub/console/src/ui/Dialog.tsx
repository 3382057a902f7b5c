import { Modal } from "@mantine/core";
import type { ReactNode } from "react";
import { useLanguage } from "../i18n";
import classes from "./Dialog.module.css";

/** Dialog is a modal window. Mantine's own header would be a second banner of the page. */
export function Dialog({ title, onClose, children, size }: { title: string; onClose: () => void; children: ReactNode; size?: "xl" }) {
	const { t } = useLanguage();
	return (
		<Modal.Root opened onClose={onClose} centered size={size}>
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
