import { Button, TextInput } from "@mantine/core";
import { type UseQueryResult, useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useLanguage } from "../../i18n";
import { useScreenTexts } from "../../i18n/screens";
import { Dialog } from "../../ui/Dialog";
import { detailOf } from "../../ui/errors";
import { ConfirmDialog, FormDialog } from "../../ui/Form";
import layout from "../../ui/layout.module.css";
import { Failed, Loading } from "../../ui/states";
import { deleteProduct, type Product, setTitle, setValidation } from "./queries";

type Props = { products: UseQueryResult<{ items: Product[] }>; admin: boolean; onClose: () => void; onDone: () => unknown };

/** Products lists the products; external ones can be changed and deleted. */
export function Products({ products, admin, onClose, onDone }: Props) {
	const { t } = useLanguage();
	const { tenants: texts, eventTypes: types, operators } = useScreenTexts();
	const [leaving, setLeaving] = useState<Product>();
	const [changing, setChanging] = useState<Product>();
	if (leaving)
		return (
			<ConfirmDialog
				title={texts.deleteProduct}
				text={texts.deleteProductText(leaving.name)}
				name={leaving.name}
				onClose={() => setLeaving(undefined)}
				onDone={onDone}
				send={() => deleteProduct(leaving.name)}
			/>
		);
	if (changing)
		return (
			<FormDialog title={texts.changeProduct} submit={t.ui.save} onClose={() => setChanging(undefined)} onDone={onDone} send={({ maybe }) => setTitle(changing, maybe("title"))}>
				<p className="quiet mono">{changing.name}</p>
				<TextInput name="title" maxLength={120} label={texts.label} description={texts.labelHelp} defaultValue={changing.title} data-autofocus />
			</FormDialog>
		);
	return (
		<Dialog title={texts.products} onClose={onClose} size="xl">
			{products.isPending ? (
				<Loading rows={4} />
			) : !products.data ? (
				<Failed error={products.error} onRetry={() => void products.refetch()} />
			) : (
				// biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
				<div className={layout.scroll} tabIndex={0} role="group" aria-label={texts.products}>
					<table className={layout.table}>
						<thead>
							<tr>
								{[t.ui.name, texts.label, texts.prefix, texts.kind, types.validation].map((title) => (
									<th key={title} scope="col">
										{title}
									</th>
								))}
								{admin && <th scope="col">{texts.actions}</th>}
							</tr>
						</thead>
						<tbody>
							{products.data.items.map((product) => (
								<tr key={product.name}>
									<th scope="row">{product.name}</th>
									<td>{product.title}</td>
									<td className="mono">{product.prefix}</td>
									<td>{product.hosted ? texts.hosted : texts.external}</td>
									<td>{product.hosted || !admin ? (types.validations[product.validation] ?? product.validation) : <Validation product={product} onDone={onDone} />}</td>
									{admin && (
										<td className={layout.buttons}>
											{!product.hosted && (
												<>
													<Button size="compact-xs" variant="default" aria-label={`${texts.changeProduct} ${product.name}`} onClick={() => setChanging(product)}>
														{operators.change}
													</Button>{" "}
													<Button size="compact-xs" variant="default" className={layout.bad} aria-label={`${texts.deleteProduct} ${product.name}`} onClick={() => setLeaving(product)}>
														{t.ui.delete}
													</Button>
												</>
											)}
										</td>
									)}
								</tr>
							))}
						</tbody>
					</table>
				</div>
			)}
		</Dialog>
	);
}

/** Validation chooses what happens to events that do not agree with the schema of their type. */
function Validation({ product, onDone }: { product: Product; onDone: () => unknown }) {
	const { t } = useLanguage();
	const { eventTypes: types } = useScreenTexts();
	const act = useMutation({ mutationFn: (validation: Product["validation"]) => setValidation(product, validation), onSettled: onDone });
	return (
		<>
			<select className={layout.select} aria-label={`${types.validation} ${product.name}`} value={product.validation} disabled={act.isPending} onChange={(event) => act.mutate(event.target.value as Product["validation"])}>
				{Object.entries(types.validations).map(([value, text]) => (
					<option key={value} value={value}>
						{text}
					</option>
				))}
			</select>
			{act.isError && <p role="alert" className={layout.bad}>{`${t.ui.failed} ${detailOf(act.error)}`}</p>}
		</>
	);
}
