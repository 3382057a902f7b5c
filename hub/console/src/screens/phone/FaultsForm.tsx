import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useScreenTexts } from "../../i18n/screens";
import layout from "../../ui/layout.module.css";
import classes from "./Phone.module.css";
import { Outcome } from "./Outcome";
import { setFaults } from "./queries";

/** FaultsForm sets what the simulated network does wrong. */
export function FaultsForm() {
	const screens = useScreenTexts();
	const apply = useMutation({ mutationFn: setFaults });
	const number = (name: string, label: string, max: number) => (
		<label className={classes.field}>
			<span className="quiet">{label}</span>
			<input name={name} className={layout.select} type="number" min={0} max={max} defaultValue={0} required />
		</label>
	);
	const choice = (name: string, label: string) => (
		<label className={classes.choice}>
			<input name={name} type="checkbox" /> {label}
		</label>
	);
	return (
		<section className={`panel ${layout.section}`} aria-labelledby="faults">
			<h2 id="faults">{screens.phone.faults}</h2>
			<form
				className={classes.form}
				onSubmit={(event) => {
					event.preventDefault();
					const data = new FormData(event.currentTarget);
					apply.mutate({
						latencyMs: Number(data.get("latencyMs")),
						dropPercent: Number(data.get("dropPercent")),
						duplicatePercent: Number(data.get("duplicatePercent")),
						reorder: data.has("reorder"),
						lid: data.has("lid"),
					});
				}}
			>
				{number("latencyMs", screens.phone.latency, 10_000)}
				{number("dropPercent", screens.phone.drop, 100)}
				{number("duplicatePercent", screens.phone.duplicate, 100)}
				{choice("reorder", screens.phone.reorder)}
				{choice("lid", screens.phone.lid)}
				<Button type="submit" size="xs" variant="default" loading={apply.isPending}>
					{screens.phone.apply}
				</Button>
				<Outcome error={apply.error} text={apply.isSuccess ? screens.phone.applied : ""} />
			</form>
		</section>
	);
}
