"""The parameters that are known of the learners and transformers that are served without refits.

Libraries gain parameters with every release, and a fast path that does not know one would ignore it. So whatever is
set on an estimator beyond the names listed here sends it to its own `fit`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

# Classes of scikit-learn 1.9, LightGBM 4.6, XGBoost 3 and CatBoost 1.2; indented lines belong to the one before.
_LISTED = """
AdaBoostClassifier: algorithm estimator learning_rate n_estimators random_state
AdaBoostRegressor: estimator learning_rate loss n_estimators random_state
AdditiveChi2Sampler: sample_interval sample_steps
AffinityPropagation: affinity convergence_iter copy damping max_iter preference random_state verbose
AgglomerativeClustering: compute_distances compute_full_tree connectivity distance_threshold linkage memory metric
  n_clusters
BaggingClassifier BaggingRegressor: bootstrap bootstrap_features estimator max_features max_samples n_estimators n_jobs
  oob_score random_state verbose warm_start
BernoulliNB: alpha binarize class_prior fit_prior force_alpha
Binarizer: copy threshold
Birch: branching_factor compute_labels n_clusters threshold
BisectingKMeans: algorithm bisecting_strategy copy_x init max_iter n_clusters n_init random_state tol verbose
CatBoostClassifier CatBoostRegressor: allow_writing_files auto_class_weights bagging_temperature boost_from_average
  boosting_type bootstrap_type border_count colsample_bylevel custom_metric depth eta eval_metric feature_border_type
  grow_policy has_time iterations l2_leaf_reg leaf_estimation_backtracking leaf_estimation_iterations
  leaf_estimation_method learning_rate logging_level loss_function max_bin max_depth max_leaves metric_period
  min_child_samples min_data_in_leaf model_size_reg mvs_reg n_estimators nan_mode num_boost_round num_leaves num_trees
  objective one_hot_max_size random_seed random_state random_strength reg_lambda rsm sampling_frequency scale_pos_weight
  score_function silent subsample thread_count train_dir verbose verbose_eval
CategoricalNB: alpha class_prior fit_prior force_alpha min_categories
ClassicalMDS: metric metric_params n_components
ComplementNB: alpha class_prior fit_prior force_alpha norm
CountVectorizer: analyzer binary decode_error dtype encoding input lowercase max_df max_features min_df ngram_range
  preprocessor stop_words strip_accents token_pattern tokenizer vocabulary
DBSCAN: algorithm eps leaf_size metric metric_params min_samples n_jobs p
DecisionTreeClassifier ExtraTreeClassifier: ccp_alpha class_weight criterion max_depth max_features max_leaf_nodes
  min_impurity_decrease min_samples_leaf min_samples_split min_weight_fraction_leaf monotonic_cst random_state splitter
DecisionTreeRegressor: ccp_alpha criterion max_depth max_features max_leaf_nodes min_impurity_decrease min_samples_leaf
  min_samples_split min_weight_fraction_leaf monotonic_cst random_state splitter
DictVectorizer: dtype separator sort sparse
DictionaryLearning: alpha callback code_init dict_init fit_algorithm max_iter n_components n_jobs positive_code
  positive_dict random_state split_sign tol transform_algorithm transform_alpha transform_max_iter
  transform_n_nonzero_coefs verbose
ElasticNet: alpha copy_X fit_intercept l1_ratio max_iter positive precompute random_state selection tol warm_start
ExtraTreesClassifier RandomForestClassifier: bootstrap ccp_alpha class_weight criterion max_depth max_features
  max_leaf_nodes max_samples min_impurity_decrease min_samples_leaf min_samples_split min_weight_fraction_leaf
  monotonic_cst n_estimators n_jobs oob_score random_state verbose warm_start
ExtraTreesRegressor RandomForestRegressor: bootstrap ccp_alpha criterion max_depth max_features max_leaf_nodes
  max_samples min_impurity_decrease min_samples_leaf min_samples_split min_weight_fraction_leaf monotonic_cst
  n_estimators n_jobs oob_score random_state verbose warm_start
FactorAnalysis: copy iterated_power max_iter n_components noise_variance_init random_state rotation svd_method tol
FastICA: algorithm fun fun_args max_iter n_components random_state tol w_init whiten whiten_solver
FeatureAgglomeration: compute_distances compute_full_tree connectivity distance_threshold linkage memory metric
  n_clusters pooling_func
FeatureHasher: alternate_sign dtype input_type n_features
FunctionTransformer: accept_sparse check_inverse feature_names_out func inv_kw_args inverse_func kw_args validate
GammaRegressor PoissonRegressor: alpha fit_intercept max_iter solver tol verbose warm_start
GaussianNB: priors var_smoothing
GaussianProcessRegressor: alpha copy_X_train kernel n_restarts_optimizer n_targets normalize_y optimizer random_state
GaussianRandomProjection: compute_inverse_components eps n_components random_state
GradientBoostingClassifier: ccp_alpha criterion init learning_rate loss max_depth max_features max_leaf_nodes
  min_impurity_decrease min_samples_leaf min_samples_split min_weight_fraction_leaf n_estimators n_iter_no_change
  random_state subsample tol validation_fraction verbose warm_start
GradientBoostingRegressor: alpha ccp_alpha criterion init learning_rate loss max_depth max_features max_leaf_nodes
  min_impurity_decrease min_samples_leaf min_samples_split min_weight_fraction_leaf n_estimators n_iter_no_change
  random_state subsample tol validation_fraction verbose warm_start
HDBSCAN: algorithm allow_single_cluster alpha cluster_selection_epsilon cluster_selection_method copy leaf_size
  max_cluster_size metric metric_params min_cluster_size min_samples n_jobs store_centers
HashingVectorizer: alternate_sign analyzer binary decode_error dtype encoding input lowercase n_features ngram_range
  norm preprocessor stop_words strip_accents token_pattern tokenizer
HistGradientBoostingClassifier: categorical_features class_weight early_stopping interaction_cst l2_regularization
  learning_rate loss max_bins max_depth max_features max_iter max_leaf_nodes min_samples_leaf monotonic_cst
  n_iter_no_change random_state scoring tol validation_fraction verbose warm_start
HistGradientBoostingRegressor: categorical_features early_stopping interaction_cst l2_regularization learning_rate loss
  max_bins max_depth max_features max_iter max_leaf_nodes min_samples_leaf monotonic_cst n_iter_no_change quantile
  random_state scoring tol validation_fraction verbose warm_start
HuberRegressor: alpha epsilon fit_intercept max_iter tol warm_start
IncrementalPCA: batch_size copy n_components whiten
Isomap: eigen_solver max_iter metric metric_params n_components n_jobs n_neighbors neighbors_algorithm p path_method
  radius tol
KBinsDiscretizer: dtype encode n_bins quantile_method random_state strategy subsample
KMeans: algorithm copy_x init max_iter n_clusters n_init random_state tol verbose
KNNImputer: add_indicator copy keep_empty_features metric missing_values n_neighbors weights
KNeighborsClassifier KNeighborsRegressor: algorithm leaf_size metric metric_params n_jobs n_neighbors p weights
KernelCenterer LabelEncoder:
KernelPCA: alpha coef0 copy_X degree eigen_solver fit_inverse_transform gamma iterated_power kernel kernel_params
  max_iter n_components n_jobs random_state remove_zero_eig tol
KernelRidge: alpha coef0 degree gamma kernel kernel_params
LGBMClassifier LGBMRegressor: alpha bagging_fraction bagging_freq bagging_seed boosting_type cat_l2 cat_smooth
  class_weight colsample_bytree data_sample_strategy deterministic extra_seed extra_trees feature_fraction
  feature_fraction_bynode feature_fraction_seed force_col_wise force_row_wise importance_type is_unbalance lambda_l1
  lambda_l2 learning_rate max_bin max_cat_threshold max_cat_to_onehot max_delta_step max_depth metric min_child_samples
  min_child_weight min_data_in_bin min_data_in_leaf min_data_per_group min_gain_to_split min_split_gain
  monotone_constraints n_estimators n_jobs neg_bagging_fraction num_leaves num_threads objective other_rate path_smooth
  poisson_max_delta_step pos_bagging_fraction random_state reg_alpha reg_lambda scale_pos_weight seed subsample
  subsample_for_bin subsample_freq top_rate tweedie_variance_power use_missing verbose verbosity zero_as_missing
LabelBinarizer: neg_label pos_label sparse_output
Lasso: alpha copy_X fit_intercept max_iter positive precompute random_state selection tol warm_start
LatentDirichletAllocation: batch_size doc_topic_prior evaluate_every learning_decay learning_method learning_offset
  max_doc_update_iter max_iter mean_change_tol n_components n_jobs perp_tol random_state topic_word_prior total_samples
  verbose
LinearDiscriminantAnalysis: covariance_estimator n_components priors shrinkage solver store_covariance tol
LinearRegression: copy_X fit_intercept n_jobs positive tol
LinearSVC: C class_weight dual fit_intercept intercept_scaling loss max_iter multi_class penalty random_state tol
  verbose
LinearSVR: C dual epsilon fit_intercept intercept_scaling loss max_iter random_state tol verbose
LocallyLinearEmbedding: eigen_solver hessian_tol max_iter method modified_tol n_components n_jobs n_neighbors
  neighbors_algorithm random_state reg tol
LogisticRegression: C class_weight dual fit_intercept intercept_scaling l1_ratio max_iter multi_class n_jobs penalty
  random_state solver tol verbose warm_start
MDS: dissimilarity eps init max_iter metric metric_mds metric_params n_components n_init n_jobs normalized_stress
  random_state verbose
MaxAbsScaler: clip copy
MeanShift: bandwidth bin_seeding cluster_all max_iter min_bin_freq n_jobs seeds
MinMaxScaler: clip copy feature_range
MiniBatchDictionaryLearning: alpha batch_size callback dict_init fit_algorithm max_iter max_no_improvement n_components
  n_jobs positive_code positive_dict random_state shuffle split_sign tol transform_algorithm transform_alpha
  transform_max_iter transform_n_nonzero_coefs verbose
MiniBatchKMeans: batch_size compute_labels init init_size max_iter max_no_improvement n_clusters n_init random_state
  reassignment_ratio tol verbose
MiniBatchNMF: alpha_H alpha_W batch_size beta_loss forget_factor fresh_restarts fresh_restarts_max_iter init l1_ratio
  max_iter max_no_improvement n_components random_state tol transform_max_iter verbose
MiniBatchSparsePCA: alpha batch_size callback max_iter max_no_improvement method n_components n_jobs random_state
  ridge_alpha shuffle tol verbose
MissingIndicator: error_on_new features missing_values sparse
MultiLabelBinarizer: classes sparse_output
MultinomialNB: alpha class_prior fit_prior force_alpha
NMF: alpha_H alpha_W beta_loss init l1_ratio max_iter n_components random_state shuffle solver tol verbose
NearestCentroid: metric priors shrink_threshold
Normalizer: copy norm
NuSVC: break_ties cache_size class_weight coef0 decision_function_shape degree gamma kernel max_iter nu probability
  random_state shrinking tol verbose
NuSVR: C cache_size coef0 degree gamma kernel max_iter nu shrinking tol verbose
Nystroem: coef0 degree gamma kernel kernel_params n_components n_jobs random_state
OPTICS: algorithm cluster_method eps leaf_size max_eps memory metric metric_params min_cluster_size min_samples n_jobs p
  predecessor_correction xi
OneHotEncoder: categories drop dtype feature_name_combiner handle_unknown max_categories min_frequency sparse_output
OrdinalEncoder: categories dtype encoded_missing_value handle_unknown max_categories min_frequency unknown_value
PCA: copy iterated_power n_components n_oversamples power_iteration_normalizer random_state svd_solver tol whiten
PLSRegression: copy max_iter n_components scale tol
PatchExtractor: max_patches patch_size random_state
Perceptron: alpha class_weight early_stopping eta0 fit_intercept l1_ratio max_iter n_iter_no_change n_jobs penalty
  random_state shuffle tol validation_fraction verbose warm_start
PolynomialCountSketch: coef0 degree gamma n_components random_state
PolynomialFeatures: degree include_bias interaction_only order
PowerTransformer: copy method standardize
QuadraticDiscriminantAnalysis: covariance_estimator priors reg_param shrinkage solver store_covariance tol
QuantileTransformer: copy ignore_implicit_zeros n_quantiles output_distribution random_state subsample
RBFSampler: gamma n_components random_state
Ridge: alpha copy_X fit_intercept max_iter positive random_state solver tol
RidgeClassifier: alpha class_weight copy_X fit_intercept max_iter positive random_state solver tol
RobustScaler: copy quantile_range unit_variance with_centering with_scaling
SGDClassifier: alpha average class_weight early_stopping epsilon eta0 fit_intercept l1_ratio learning_rate loss max_iter
  n_iter_no_change n_jobs penalty power_t random_state shuffle tol validation_fraction verbose warm_start
SVC: C break_ties cache_size class_weight coef0 decision_function_shape degree gamma kernel max_iter probability
  random_state shrinking tol verbose
SVR: C cache_size coef0 degree epsilon gamma kernel max_iter shrinking tol verbose
SimpleImputer: add_indicator copy fill_value keep_empty_features missing_values strategy
SkewedChi2Sampler: n_components random_state skewedness
SparseCoder: dictionary n_jobs positive_code split_sign transform_algorithm transform_alpha transform_max_iter
  transform_n_nonzero_coefs
SparsePCA: U_init V_init alpha max_iter method n_components n_jobs random_state ridge_alpha tol verbose
SparseRandomProjection: compute_inverse_components dense_output density eps n_components random_state
SpectralBiclustering: init method mini_batch n_best n_clusters n_components n_init n_svd_vecs random_state svd_method
SpectralClustering: affinity assign_labels coef0 degree eigen_solver eigen_tol gamma kernel_params n_clusters
  n_components n_init n_jobs n_neighbors random_state verbose
SpectralCoclustering: init mini_batch n_clusters n_init n_svd_vecs random_state svd_method
SpectralEmbedding: affinity eigen_solver eigen_tol gamma n_components n_jobs n_neighbors random_state
SplineTransformer: degree extrapolation handle_missing include_bias knots n_knots order sparse_output
StandardScaler: copy with_mean with_std
TSNE: angle early_exaggeration init learning_rate max_iter method metric metric_params min_grad_norm n_components
  n_iter_without_progress n_jobs perplexity random_state verbose
TfidfTransformer: norm smooth_idf sublinear_tf use_idf
TfidfVectorizer: analyzer binary decode_error dtype encoding input lowercase max_df max_features min_df ngram_range norm
  preprocessor smooth_idf stop_words strip_accents sublinear_tf token_pattern tokenizer use_idf vocabulary
TruncatedSVD: algorithm n_components n_iter n_oversamples power_iteration_normalizer random_state tol
TweedieRegressor: alpha fit_intercept link max_iter power solver tol verbose warm_start
VarianceThreshold: threshold
XGBClassifier XGBRegressor: base_score booster callbacks colsample_bylevel colsample_bynode colsample_bytree device
  early_stopping_rounds enable_categorical eval_metric feature_types feature_weights gamma grow_policy importance_type
  interaction_constraints learning_rate max_bin max_cat_threshold max_cat_to_onehot max_delta_step max_depth max_leaves
  min_child_weight missing monotone_constraints multi_strategy n_estimators n_jobs num_parallel_tree objective
  random_state reg_alpha reg_lambda sampling_method scale_pos_weight subsample tree_method validate_parameters verbosity
ColumnTransformer: force_int_remainder_cols n_jobs remainder sparse_threshold transformer_weights transformers verbose
  verbose_feature_names_out
FeatureUnion: n_jobs transformer_list transformer_weights verbose verbose_feature_names_out
Pipeline: memory steps transform_input verbose
"""


def _read() -> Iterator[tuple[str, frozenset[str]]]:
    for line in _LISTED.replace("\n  ", " ").strip().splitlines():
        kinds, _, names = line.partition(": ")
        for kind in kinds.split():
            yield kind, frozenset(names.split())


KNOWN_PARAMETERS = dict(_read())
"""Name of a class → the parameters of it that are known."""


def unknown_settings(estimator: Any) -> list[str]:
    """The parameters of an estimator that are set and that are not known here; of a class not listed all that are set.

    A parameter is set where its value differs from its default. Estimators of our own are known.
    """
    kind = type(estimator)
    if not hasattr(estimator, "get_params") or kind.__module__.startswith("outsample."):
        return []
    known = KNOWN_PARAMETERS.get(kind.__name__, frozenset())
    strangers = {name: value for name, value in estimator.get_params(deep=False).items() if name not in known}
    if not strangers:
        return []
    # Libraries that take any name have None for what is not set.
    defaults = {name: parameter.default for name, parameter in inspect.signature(kind).parameters.items()}
    return [name for name, value in strangers.items() if not _is_same(value, defaults.get(name))]


def _is_same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and repr(value) == repr(default))
