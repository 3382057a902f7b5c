import { Button } from "@mantine/core";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useEnvironment } from "../../app/EnvironmentSwitch";
import { useScreenTexts } from "../../i18n/screens";
import { KeyDialog } from "../../ui/keys/KeyDialog";
import { type KeyAct, KeyName, useKeyColumns } from "../../ui/keys/keyColumns";
import { ListScreen } from "../../ui/ListScreen";
import type { Key } from "../client";
import { useTexts } from "../i18n";
import { useProduct } from "../session";
import { keyActs, keysKey, keysQuery } from "./queries";

export function AccountKeys() {
	const screens = useScreenTexts();
	const texts = useTexts();
	const product = useProduct();
	const environment = useEnvironment();
	const queries = useQueryClient();
	const list = useInfiniteQuery(keysQuery(product, environment));
	const [act, setAct] = useState<KeyAct<Key>>();
	const columns = useKeyColumns<Key>({
		name: (row) => <KeyName row={row} />,
		between: [{ title: screens.keys.scopes, width: "minmax(130px, 1.2fr)", cell: (row) => <span className="quiet" title={row.scopes.join(", ")}>{row.scopes.join(", ")}</span> }],
		canChange: true,
		onAct: setAct,
	});
	const create = (
		<Button size="xs" onClick={() => setAct({ name: "create" })}>
			{screens.keys.create}
		</Button>
	);
	return (
		<ListScreen
			title={screens.keys.title}
			lead={texts.keys.lead}
			list={list}
			columns={columns}
			keyOf={(row) => row.id}
			empty={{ title: screens.keys.emptyTitle, text: texts.keys.empty, next: create }}
			actions={list.isSuccess && create}
		>
			{act && <KeyDialog act={act} onClose={() => setAct(undefined)} onDone={() => queries.invalidateQueries({ queryKey: keysKey(product) })} {...keyActs(product, environment)} />}
		</ListScreen>
	);
}
