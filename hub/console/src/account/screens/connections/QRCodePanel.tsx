import { Skeleton } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useLanguage } from "../../../i18n";
import { Copy } from "../../../ui/Copy";
import { detailOf } from "../../../ui/errors";
import layout from "../../../ui/layout.module.css";
import { Time } from "../../../ui/Time";
import { useTexts } from "../../i18n";
import classes from "./Connections.module.css";
import { type Connection, qrCodeQuery } from "./queries";

/** QRCodePanel shows the code that pairs a phone, and each that takes its place. */
export function QRCodePanel({ connection }: { connection: Connection }) {
	const { t } = useLanguage();
	const { connections: texts } = useTexts();
	const code = useQuery({ ...qrCodeQuery(connection.id, connection.qrcode), placeholderData: keepPreviousData });
	return (
		<section className={`panel ${layout.section} ${classes.pairing}`} aria-labelledby="pairing">
			<div className={classes.code}>{code.data?.image ? <img src={code.data.image} width={256} height={256} alt={texts.codeAlt(connection.name)} /> : <Skeleton width={256} height={256} />}</div>
			<div>
				<h2 id="pairing">{texts.pair}</h2>
				<ol className={classes.steps}>
					{texts.pairSteps.map((step) => (
						<li key={step}>{step}</li>
					))}
				</ol>
				{code.data?.expiresAt && (
					<p className="quiet">
						{texts.expires} <Time at={code.data.expiresAt} /> · {texts.renewed}
					</p>
				)}
				{code.data?.qrcode && (
					<p className="quiet">
						{texts.codeText} <Copy text={code.data.qrcode} label={texts.codeText} />
					</p>
				)}
				<p role="alert" className={layout.bad}>
					{code.isError && `${t.ui.failed} ${detailOf(code.error)}`}
				</p>
			</div>
		</section>
	);
}
