import { useLanguage } from "../i18n";
import { Dialog } from "../ui/Dialog";
import classes from "./Help.module.css";

export function Help({ onClose }: { onClose: () => void }) {
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
		<Dialog title={t.app.help} onClose={onClose}>
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
		</Dialog>
	);
}
