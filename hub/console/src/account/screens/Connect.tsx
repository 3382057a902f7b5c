import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEnvironment } from "../../app/EnvironmentSwitch";
import { basePath, hostedProducts } from "../../app/hosted";
import { useScreenTexts } from "../../i18n/screens";
import { Checklist } from "../../ui/connect/Checklist";
import classes from "../../ui/connect/Connect.module.css";
import { type Peer, PeerForm } from "../../ui/connect/PeerForm";
import layout from "../../ui/layout.module.css";
import { PageTitle } from "../../ui/PageTitle";
import { Failed, Loading } from "../../ui/states";
import { useTexts } from "../i18n";
import { useProduct } from "../session";
import { connect, integrationQuery, integrationsKey, integrationsQuery } from "./queries";

export function AccountConnect() {
	const screens = useScreenTexts();
	const texts = useTexts();
	const product = useProduct();
	const environment = useEnvironment();
	const queries = useQueryClient();
	// Who may not read the connections learns it before filling in the form.
	const connected = useQuery(integrationsQuery(product, environment));
	const connecting = useMutation({
		mutationFn: (peer: Peer) => connect(product, environment, peer),
		gcTime: 0, // the key is not kept
		onSettled: () => queries.invalidateQueries({ queryKey: integrationsKey(product, environment) }),
	});
	const id = connecting.data?.id ?? "";
	const followed = useQuery({ ...integrationQuery(product, environment, id), enabled: id !== "" && connecting.data?.status !== "active" });
	const known = Object.fromEntries(hostedProducts().filter((name) => name !== product).map((name) => [name, `${window.location.origin}${basePath(name)}/api/v1`]));
	return (
		<div className={layout.screen}>
			<div className={layout.top}>
				<div>
					<PageTitle title={texts.connect.title} />
					<p className="quiet">{texts.connect.lead}</p>
				</div>
			</div>
			{connected.isPending ? (
				<div className="panel">
					<Loading rows={8} />
				</div>
			) : !connected.data ? (
				<div className="panel">
					<Failed error={connected.error} onRetry={() => void connected.refetch()} />
				</div>
			) : (
				<div className={classes.columns}>
					<section className={`panel ${layout.section} ${classes.section}`} aria-labelledby="peer">
						<h2 id="peer">{texts.connect.peer}</h2>
						<p className="quiet">{screens.connect.otherLead}</p>
						<PeerForm busy={connecting.isPending} known={known} onSubmit={(peer) => connecting.mutate(peer)} />
						{!connecting.isIdle && (
							<Checklist
								connecting={connecting}
								followed={followed}
								link={(id, text) => (
									<Link to="/account/$product/integrations/$id" params={{ product, id }} search={(was) => ({ environment: was.environment })}>
										{text}
									</Link>
								)}
							/>
						)}
					</section>
					<section className={`panel ${layout.section} ${classes.section}`} aria-labelledby="ours">
						<h2 id="ours">{texts.connect.other}</h2>
						<p className="quiet">{texts.connect.otherLead}</p>
						<dl className={classes.address}>
							<dt>{texts.connect.ourURL}</dt>
							<dd className="mono">{`${window.location.origin}${basePath(product)}/api/v1`}</dd>
						</dl>
						<p>
							<Link to="/account/$product/keys" params={{ product }} search={(was) => ({ environment: was.environment })}>
								{texts.connect.issue}
							</Link>
						</p>
					</section>
				</div>
			)}
		</div>
	);
}
