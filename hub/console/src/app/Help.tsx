import { Modal } from "@mantine/core";
import { useLanguage } from "../i18n";
import classes from "./Help.module.css";

export function Help({ opened, onClose }: { opened: boolean; onClose: () => void }) {
	const { t } = useLanguage();
	const rows: [string[], string][] = [
		[["/"], t.help.search],
		[["j", "k"], t.help.rows],
		[["Enter"], t.help.open],
		[["r"], t.help.retry],
		[["c"], t.help.curl],
		[["?"], t.help.help],
	];
	return (
		<Modal opened={opened} onClose={onClose} title={t.app.help} centered closeButtonProps={{ "aria-label": t.help.close }}>
			<dl className={classes.list}>
				{rows.map(([keys, text]) => (
					<div key={text}>
						<dt>
							{keys.map((key) => (
								<kbd key={key}>{key}</kbd>
							))}
						</dt>
						<dd>{text}</dd>
					</div>
				))}
			</dl>
		</Modal>
	);
}
