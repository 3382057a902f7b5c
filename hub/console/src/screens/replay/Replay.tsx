import { Button } from "@mantine/core";
import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { bodyOf, client } from "../../api/client";
import { uuid } from "../../app/search";
import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import { Actions, Detail, type Fact, Facts, Loaded } from "../../ui/Detail";
import { detailOf } from "../../ui/errors";
import layout from "../../ui/layout.module.css";
import { Progress } from "../../ui/Progress";
import { Time } from "../../ui/Time";
import { filterText, type Replay as Shown } from "../replays/queries";
import { ReplayState } from "../replays/ReplayState";

const route = getRouteApi("/shell/replays/$id");

const replayQuery = (id: string) =>
	queryOptions({
		queryKey: ["replay", id],
		refetchInterval: (query) => (query.state.data?.status === "running" ? 1000 : false),
		retry: 3, // the hub may be starting anew
		queryFn: () => bodyOf(client.GET("/api/v1/replays/{id}", { params: { path: { id } } })),
	});

export function Replay() {
	const screens = useScreenTexts();
	const { id } = route.useParams();
	const { environment } = route.useSearch();
	const replay = useQuery({ ...replayQuery(id), enabled: uuid.test(id) });
	return (
		<Loaded query={replay} what={screens.replays.what} id={id}>
			{(data) => (
				<Detail
					back={
						<Link to="/replays" search={{ environment }}>
							{screens.replays.title}
						</Link>
					}
					title={screens.replays.heading(data.total)}
					state={<ReplayState replay={data} />}
					actions={<ReplayActions replay={data} />}
				>
					<Progress title={screens.replays.progress} done={data.done} total={data.total} text={screens.replays.settled(data.done, data.total)} />
					<ReplayFacts replay={data} />
				</Detail>
			)}
		</Loaded>
	);
}

function ReplayActions({ replay }: { replay: Shown }) {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	const queries = useQueryClient();
	const cancel = useMutation({
		mutationFn: () => bodyOf(client.POST("/api/v1/replays/{id}/cancel", { params: { path: { id: replay.id } } })),
		onSuccess: (data) => queries.setQueryData(replayQuery(replay.id).queryKey, data),
	});
	if (replay.status !== "running") return null;
	return (
		<Actions bad={cancel.isError} said={cancel.isError && `${t.ui.failed} ${detailOf(cancel.error)}`}>
			<Button size="xs" variant="default" className={layout.bad} loading={cancel.isPending} onClick={() => cancel.mutate()}>
				{screens.replays.cancel}
			</Button>
		</Actions>
	);
}

function ReplayFacts({ replay }: { replay: Shown }) {
	const { t } = useLanguage();
	const screens = useScreenTexts();
	const facts: Fact[] = [
		[t.status.delivered ?? "", replay.delivered],
		[t.status.parked ?? "", replay.parked],
		[t.status.failed ?? "", replay.failed],
		[screens.replays.filter, <span key="filter" className="mono">{filterText(replay)}</span>],
		[screens.replays.by, replay.created_by],
		[screens.replays.started, <Time key="started" at={replay.created_at} />],
		[t.delivery.finished, replay.finished_at ? <Time key="finished" at={replay.finished_at} /> : "–"],
	];
	if (replay.error) facts.push([t.integrations.error, <span key="error" className={layout.bad}>{replay.error}</span>]);
	return <Facts facts={facts} />;
}
